"""How methods are written for people: in tables, figures and pages."""

# The baseline first: lists of models follow this order.
METHOD_LABELS = {
    "vicreg": "VICReg",
    "sag-vicreg": "SAG-VICReg",
    "simclr": "SimCLR",
    "barlow-twins": "Barlow Twins",
    "dino": "DINO",
    "mae": "MAE",
    "i-jepa": "I-JEPA",
    # Tables name these recipes, not their method alone.
    "vicreg-vit": "VICReg",
    "sag-vicreg-vit": "SAG-VICReg",
}
