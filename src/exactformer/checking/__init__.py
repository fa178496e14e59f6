"""Worked examples checked number by number: what is printed, held against what is true."""

from exactformer.checking.checker import check_file, check_text
from exactformer.checking.command import run
from exactformer.checking.fixing import fix_text
from exactformer.checking.lessons import lesson_text, lessons
from exactformer.checking.report import Finding, Report
from exactformer.checking.verdicts import Verdict

__all__ = ["Finding", "Report", "Verdict", "check_file", "check_text", "fix_text", "lesson_text", "lessons", "run"]
