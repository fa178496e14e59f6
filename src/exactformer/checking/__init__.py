"""Worked examples checked number by number: what is printed, held against what is true."""

from exactformer.checking.checker import check_file, check_text
from exactformer.checking.command import check_files
from exactformer.checking.fixing import fix_text
from exactformer.checking.lessons import lesson_text, lessons
from exactformer.checking.report import CheckReport, Finding
from exactformer.checking.verdicts import Verdict

__all__ = ["CheckReport", "Finding", "Verdict", "check_file", "check_files", "check_text", "fix_text", "lesson_text", "lessons"]
