# A node: mount a folder with node.toml, keys and room for the journal at /node (see docs/node.md).
FROM python:3.11-slim

COPY pyproject.toml README.md LICENSE constraints.txt /source/
COPY docs/errata.md /source/docs/
COPY src /source/src
RUN pip install --no-cache-dir '/source[live,kafka]' -c /source/constraints.txt && rm -rf /source

RUN useradd --uid 1000 --create-home node && install -d -o node /node
USER node
WORKDIR /node
VOLUME /node

# SIGTERM, which `docker stop` sends, ends the node in order; it lingers for 5 seconds at most.
ENTRYPOINT ["antecede", "node"]
CMD ["--config", "/node/node.toml"]
