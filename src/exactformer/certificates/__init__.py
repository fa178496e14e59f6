"""Questions to certified passes, and their answers: the next tokens with a proof, as files that can be checked again."""

from exactformer.certificates.certificate import Certificate, CertificateError, Claim, certify
from exactformer.certificates.passes import LayerReport
from exactformer.certificates.preparation import Prepared
from exactformer.certificates.proving import Certified, Entry, prove_token, prove_tokens
from exactformer.certificates.verifying import Verification, verify

__all__ = [
    "Certificate", "CertificateError", "Certified", "Claim", "Entry", "LayerReport", "Prepared", "Verification", "certify",
    "prove_token", "prove_tokens", "verify",
]  # fmt: skip
