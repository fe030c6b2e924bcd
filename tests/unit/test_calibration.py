import numpy as np

from layers.model.build import MODEL_VERSION
from siftline.analyze.topics.topic_list import Label, LabelSet, labels_of, shipped_labels
from siftline.analyze.topics.topic_scoring import Calibration, calibration_for


def test_the_shipped_model_has_an_offset_for_every_shipped_topic():
    assert set(calibration_for(MODEL_VERSION, shipped_labels()).offsets) == set(shipped_labels().ids)


def test_a_topic_in_other_words_has_no_offset_though_it_has_a_shipped_ones_name():
    own = labels_of({"sport": "chess, darts", "health": "yoga"})

    assert calibration_for(MODEL_VERSION, own).offsets == {}
    mixed = LabelSet(
        (*(label for label in shipped_labels().labels if label.id == "sport"), Label("chess", {"en": ("a",)}))
    )
    assert set(calibration_for(MODEL_VERSION, mixed).offsets) == {"sport"}


def test_another_model_has_the_plain_curve():
    assert calibration_for("another-1", shipped_labels()) == Calibration()


def test_an_offset_moves_the_score_of_its_topic_alone():
    cosines, topics = np.array([0.1, 0.2, 0.0]), ("a", "b", "c")
    plain = Calibration().scores(cosines, topics)
    moved = Calibration(offsets={"b": 0.5}).scores(cosines, topics)

    assert moved[1] > plain[1]
    assert list(moved[[0, 2]]) == list(plain[[0, 2]])


def test_no_topic_scores_high_by_its_offset_alone():
    """Case A13: a text that is near to none of them, or to all of them alike, is given none."""
    calibration = calibration_for(MODEL_VERSION, shipped_labels())

    assert (calibration.scores(np.zeros(len(shipped_labels().ids)), shipped_labels().ids) < 0.3).all()
