"""Ids reserved in every subword model, shared by teacher and student."""

PAD_ID = 0
UNK_ID = 1
BOS_ID = 2
EOS_ID = 3
MASK_ID = 4

MASK_PIECE = "<mask>"

#: Ids that a student never writes: their logits are minus infinity.
STUDENT_BANNED_IDS = (PAD_ID, UNK_ID, BOS_ID, EOS_ID, MASK_ID)

#: Ids that a teacher never writes; it ends a sentence with EOS.
TEACHER_BANNED_IDS = (PAD_ID, UNK_ID, BOS_ID, MASK_ID)
