"""Requests made up from the API's own description: none makes the server fail, and every answer is as described."""

from __future__ import annotations

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance

from children import PATIENCE
from exactformer.web.api import openapi
from web.serving import Serving

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
schema = schemathesis.openapi.from_dict(openapi())


@schema.parametrize()
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_made_up_requests(case: schemathesis.Case, server: Serving) -> None:
    answer = case.call(base_url=server.address, timeout=PATIENCE)
    assert answer.status_code < 500, answer.content
    case.validate_response(answer, checks=CHECKS)


of_model = schema.include(path_regex="/api/(certif|model_)")


@of_model.parametrize()
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_made_up_questions_to_a_model(case: schemathesis.Case, capstone: Serving) -> None:
    answer = case.call(base_url=capstone.address, timeout=PATIENCE)
    assert answer.status_code < 500, answer.content
    case.validate_response(answer, checks=CHECKS)
