"""Translates with the pretrained English-German models and prints the trade-off.

Example:
  cmlm-demo --output_dir=demo
"""

import sys
from pathlib import Path

from absl import flags, logging

from cmlm_tf.commands import cli
from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.evaluation.table import format_table
from cmlm_tf.evaluation.trace_page import TracePage, parse_beside
from cmlm_tf.evaluation.trade_off import measure_trade_off, write_trade_off
from cmlm_tf.pretrained import EN_DE_STUDENT, EN_DE_TEACHER, EN_DE_TEST
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.options import UnmaskingOptions
from cmlm_tf.translate.translator import Translator

_OUTPUT_DIR = flags.DEFINE_string("output_dir", "demo", "Folder for table and plot.")

#: From slow to fast.
DEMO_SETTINGS = {
    "mask_predict": (10, 4),
    "fixed_k": (2, 4),
    "thresh": (0.7, 0.3),
    "comb_thresh": (0.5, 0.1, 0.01),
    "fcomb_thresh": (0.5, 0.01),
}
#: Translated with care and in haste.
EXAMPLES = (
    "Could you tell me where the nearest station is?",
    "The two countries want to work more closely together on climate protection.",
    "Click on the button to save your changes before you close the window.",
    "A young woman with a red umbrella is waiting for the bus in the rain.",
    "If the weather stays like this, we will have to cancel the trip.",
)
EXAMPLE_TAUS = (0.5, 0.01)
TEST = f"tsv:{EN_DE_TEST}?source=1&target=2"


@cli.command
def run(_) -> None:
    """Shows examples and prints the table."""
    print(run_demo(_OUTPUT_DIR.value))


def run_demo(output_dir: str | Path, test: str = TEST) -> str:
    """Translates examples and a test set with the pretrained models.

    Args:
        output_dir: gets `table.json`, `table.md`, `table.png`, `table.svg` and
            `passes.html`, which shows how the examples were unmasked.
        test: description of the corpus for the table.

    Returns:
        The table as text; the examples are printed on stderr.
    """
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    sources, references = zip(*open_corpus(test), strict=True)
    teacher, student = load_translator(EN_DE_TEACHER), load_translator(EN_DE_STUDENT)
    _show_examples(student)
    slow = UnmaskingOptions("comb_thresh", EXAMPLE_TAUS[0])
    page = TracePage(student, parse_beside(None, slow))
    page.add(EXAMPLES, None)
    (folder / "passes.html").write_text(page.render(), encoding="utf-8")
    rows = measure_trade_off(teacher, student, sources, references, DEMO_SETTINGS)
    write_trade_off(rows, test, folder)
    logging.info("table, plot and passes.html are in %s", folder)
    return format_table(rows)


def _show_examples(student: Translator) -> None:
    print("comb_thresh, with care (tau=0.5) and in haste (tau=0.01):", file=sys.stderr)
    options = [UnmaskingOptions("comb_thresh", tau) for tau in EXAMPLE_TAUS]
    translations = [student.translate(EXAMPLES, option) for option in options]
    for source, *outputs in zip(EXAMPLES, *translations, strict=True):
        print(f"\nsource      {source}", file=sys.stderr)
        for tau, output in zip(EXAMPLE_TAUS, outputs, strict=True):
            print(
                f"tau={tau:<7g} {output.text}   "
                f"({output.num_tokens} subwords, passes: {output.selected_iterations})",
                file=sys.stderr,
            )
