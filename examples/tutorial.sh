#!/usr/bin/env bash
# From text to a fast translator: what to type for files of your own, on a toy corpus.
# Usage: examples/tutorial.sh [FOLDER], ./tutorial if not given; what is finished there
# is not done again. It takes 12 minutes of CPU time.
set -euo pipefail
examples=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-tutorial}" && cd "${1:-tutorial}"

# Parallel text: train.en train.de dev.en dev.de test.en test.de.
[ -e train.de ] || python "$examples/toy_corpus.py" --output_dir=.

# One subword model for both languages.
[ -e subword.model ] || cmlm-train-subword --corpus=files:train.en,train.de \
    --vocab_size=640 --output=subword.model

# The teacher, an ordinary Transformer.
cmlm-train --config=toy:teacher --output_dir=teacher

# The teacher translates the source side of the corpus: the student's text.
[ -e distilled ] || cmlm-distill --config=toy:teacher --teacher=teacher/model \
    --batch_size=256 --output_dir=distilled

# The student, the conditional masked language model.
cmlm-train --config=toy:student --output_dir=student \
    --config.data.train=files:distilled/source.txt,distilled/target.txt

# The test set by the teacher, then by the student: one word in a pass, three, seven.
# Each source has several right translations and one reference, so BLEU is low.
scores() {  # MODEL FLAG...
    cmlm-decode --model_dir="$1/model" --input=test.en --output=out.de \
        --jsonl=out.jsonl "${@:2}"
    echo "== $*"
    cmlm-evaluate --hypotheses=out.de --references=test.de --decoded=out.jsonl |
        grep -E '^BLEU|iteration, slowest'
}
scores teacher
scores student --heuristic=comb_thresh --tau=0.9
scores student --heuristic=comb_thresh --tau=0.3
scores student --heuristic=comb_thresh --tau=0.01

# Some translations; in tutorial.html each pass of them, beside another setting.
head -n 5 test.en | tee examples.en
cmlm-decode --model_dir=student/model --input=examples.en \
    --heuristic=comb_thresh --tau=0.3 --trace=tutorial.html
