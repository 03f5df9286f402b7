"""All parts of the demo, one after the other."""

from antecede.demo import triangle

if __name__ == "__main__":
    triangle.main()
