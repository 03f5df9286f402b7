"""Certificates for mutual TLS between the nodes of a group: an authority of its own, and one for each member.

    ca.pem, ca.key          the authority; the key is needed only to make further certificates
    NAME.pem, NAME.key      a member: the certificate names its process

All files can be read by their owner alone. An authority that is in the folder already is used again, so that
a group can grow; nothing is ever overwritten.
"""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from antecede.core.errors import CallerError, SetupError

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ImportError:
    raise SetupError("certificates need cryptography; run: pip install 'antecede[live]'") from None

AUTHORITY_DAYS = 3650
LONGEST_NAME = 64
"""Of a common name, in characters."""
CLOCK_SKEW = timedelta(minutes=5)
"""A certificate holds from a little earlier on, for machines whose clocks are behind."""


class CertifiedKey:
    """A certificate and its private key."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self.certificate = certificate
        self.key = key

    def write_files(self, folder: Path, name: str) -> None:
        """Write both files; the certificate last, so that one that is there has its key."""
        form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        private = self.key.private_bytes(serialization.Encoding.PEM, form, plain)
        _write_new_private_file(folder / f"{name}.key", private)
        _write_new_private_file(
            folder / f"{name}.pem", self.certificate.public_bytes(serialization.Encoding.PEM)
        )


def make_certificates_and_tell_if_authority_is_new(folder: Path, members: list[str], days: int) -> bool:
    """Make certificates for members; returns whether the authority is new."""
    for name in members:
        _check_member_name(name)
    if len(set(members)) < len(members):
        raise CallerError("a member is named twice")
    is_new = not _has_authority_files(folder)
    _check_files_absent(folder, [*members, "ca"] if is_new else members)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority = _make_authority() if is_new else _read_authority(folder)
    if is_new:
        authority.write_files(folder, "ca")
    for name in members:
        _make_member_certificate(authority, name, days).write_files(folder, name)
    return is_new


def _check_member_name(name: str) -> None:
    is_file_name = name not in ("", ".", "..") and not set(name) & set("/\\\0")
    if not is_file_name or len(name.encode()) > LONGEST_NAME or name == "ca":
        raise CallerError(
            f"{name!r} cannot be the name of a member here: it names files, has at most {LONGEST_NAME} "
            "bytes, and is not 'ca'"
        )


def _has_authority_files(folder: Path) -> bool:
    return (folder / "ca.pem").exists() and (folder / "ca.key").exists()


def _check_files_absent(folder: Path, names: list[str]) -> None:
    files = [folder / f"{name}.{kind}" for name in names for kind in ("pem", "key")]
    there = [str(file) for file in files if file.exists()]
    if there:
        raise CallerError(
            f"{', '.join(there)} exist already and are not overwritten: move them away, or choose another "
            "folder with --out"
        )


def _write_new_private_file(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _make_authority() -> CertifiedKey:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _make_subject("antecede group authority")
    builder = _make_certificate_builder(name, name, key, key, AUTHORITY_DAYS)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_make_key_usage(is_authority=True), critical=True)
    return CertifiedKey(builder.sign(key, hashes.SHA256()), key)


def _make_member_certificate(authority: CertifiedKey, member: str, days: int) -> CertifiedKey:
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = authority.certificate.subject
    builder = _make_certificate_builder(_make_subject(member), issuer, key, authority.key, days)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_make_key_usage(is_authority=False), critical=True)
    both_sides = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    builder = builder.add_extension(x509.ExtendedKeyUsage(both_sides), critical=False)
    return CertifiedKey(builder.sign(authority.key, hashes.SHA256()), key)


def _make_subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _make_certificate_builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
    days: int,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    own_id = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(own_id, critical=False)
        .add_extension(issuer_id, critical=False)
    )


def _make_key_usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )


def _read_authority(folder: Path) -> CertifiedKey:
    try:
        certificate = x509.load_pem_x509_certificate((folder / "ca.pem").read_bytes())
        key = serialization.load_pem_private_key((folder / "ca.key").read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise CallerError(f"the authority in {folder} cannot be read: {error}") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        raise CallerError(
            f"{folder}/ca.key is not the key of {folder}/ca.pem; choose another folder with --out"
        )
    return CertifiedKey(certificate, key)
