"""What RLX / best right peer should be at most, by model: 1 for those without a line, where the peer takes longer than WORTH milliseconds."""

WORTH = 0.2
GOALS = {
    **dict.fromkeys(["resnet50", "resnet18", "squeezenet", "ocr_rec", "ocr_det", "yolov8n"], 0.82),
    **dict.fromkeys(["mobilenet_v2", "efficientnet_b0", "shufflenet"], 0.80),
    **dict.fromkeys(["bert_base", "minilm", "vit_b_16"], 0.86),
}


def goal(model, best_ms):
    """None where the peer is too fast for the comparison to mean anything."""
    base = model.partition("@")[0]
    return GOALS.get(base, 1.0) if base in GOALS or best_ms > WORTH else None
