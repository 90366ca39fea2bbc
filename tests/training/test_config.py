import inspect

from absl.testing import parameterized

from cmlm_tf.commands.config_flag import config_names
from cmlm_tf.configs import base
from cmlm_tf.errors import UserError
from cmlm_tf.training.config import validate_config
from tests.training import small_run

NAMES = config_names()


class ConfigFilesTest(parameterized.TestCase):
    @parameterized.product(name=NAMES, role=["teacher", "student"])
    def test_every_config_is_valid(self, name, role):
        config = small_run.load_config_file(name, role)
        validate_config(config)
        self.assertEqual(config.role, role)

    def test_every_field_of_the_base_has_a_comment(self):
        for line in inspect.getsource(base.get_config).splitlines():
            if line.strip().startswith("config.") and "ConfigDict()" not in line:
                self.assertRegex(line, "  # .+")


class ValidateConfigTest(parameterized.TestCase):
    @parameterized.parameters(
        ("seed", -1, "config.seed must be .* from 0 to 4294967295, not -1"),
        ("seed", 2**32, "config.seed must be .* 4294967295, not 4294967296"),
        ("seed", True, "config.seed"),
        ("model.dropout", 1.0, "config.model.dropout"),
        ("data.row_lengths", (64, 32), "config.data.row_lengths must be rising"),
        ("data.row_lengths", (), "config.data.row_lengths"),
        ("data.row_lengths", (64, 10**9), "config.data.row_lengths .* to 16384"),
        ("data.tokens_per_batch", 10**12, "tokens_per_batch .* from 1 to 16777216"),
        ("data.row_lengths", (32,), "must reach config.model.max_length, 64"),
        ("data.tokens_per_batch", 63, "config.data.tokens_per_batch must hold"),
        ("data.train", "", "config.data.train must be text"),
        ("training.max_steps", 0, "config.training.max_steps"),
        ("training.max_steps", 10**400, "config.training.max_steps"),
        ("training.warmup_steps", 10**13, "config.training.warmup_steps"),
        ("training.cooldown_steps", 10**20, "config.training.cooldown_steps"),
        ("evaluation.bleu_sentences", 10**20, "config.evaluation.bleu_sentences"),
        ("training.clip_norm", 0.0, "config.training.clip_norm .* above 0"),
        ("training.clip_norm", float("nan"), "config.training.clip_norm"),
        ("training.dtype", "float16", "config.training.dtype must be one of"),
        ("training.steps_per_execution", 7, "must be a multiple of"),
        ("evaluation.select_by", "bleu", "bleu_sentences must be above 0"),
        ("role", "pupil", "config.role must be one of teacher, student"),
    )
    def test_value_out_of_range(self, field, value, message):
        config = small_run.load_config_file("toy", "teacher")
        config.evaluation.bleu_sentences = 0
        with config.ignore_type():
            config.update_from_flattened_dict({field: value})
        with self.assertRaisesRegex(UserError, message):
            validate_config(config)

    def test_more_length_candidates_than_lengths(self):
        config = small_run.load_config_file("toy", "student")
        config.evaluation.length_beam = config.model.max_length
        validate_config(config)
        config.evaluation.length_beam += 1
        with self.assertRaisesRegex(UserError, "length_beam must be at most .*, 64"):
            validate_config(config)

    def test_all_faults_are_named_at_once(self):
        config = small_run.load_config_file("toy", "student")
        config.training.warm_up = 3
        del config.training.warmup_steps
        config.seed = -2
        with self.assertRaises(UserError) as caught:
            validate_config(config)
        for part in (
            "config.training.warm_up is unknown",
            "config.training.warmup_steps is missing",
            "config.seed must be",
        ):
            self.assertIn(part, str(caught.exception))

    def test_teacher_has_no_student_fields(self):
        config = small_run.load_config_file("toy", "student")
        config.role = "teacher"
        with self.assertRaisesRegex(UserError, "config.student.teacher_dir is unknown"):
            validate_config(config)
