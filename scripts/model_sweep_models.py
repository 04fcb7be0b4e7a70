"""Architectures for scripts/model_sweep.py, large enough to measure speed.

MODELS: name -> function that gives (module, [(input name, tensor), ...]) with random weights, one
sample. Made with the helpers of torchscript_models.py, whose own list has smaller networks.
"""

import torch
from torch import nn

from torchscript_models import (Detector, Encoder, Part, sub_encoder, timm_model, torchvision_model,
                                transformer)

SIZE = 224
TOKENS, VOCABULARY = 64, 1000


def torchvision_segmentation(name):
    def make():
        import torchvision.models.segmentation as models
        model = getattr(models, name)(weights=None, weights_backbone=None, num_classes=21)
        return Part(model, None, "out"), [("x", torch.randn(1, 3, SIZE, SIZE))]
    return make


def torchvision_detection(name, size):
    def make():
        import torchvision.models.detection as models
        model = getattr(models, name)(weights=None, weights_backbone=None, num_classes=21)
        return Detector(model), [("x", torch.rand(1, 3, size, size))]
    return make


def yolo(name, size=320):
    def make():
        from ultralytics import YOLO
        model = YOLO(f"{name}.yaml").model.eval().fuse(verbose=False)
        model.model[-1].export, model.model[-1].format = True, "onnx"
        return model.requires_grad_(False), [("x", torch.rand(1, 3, size, size))]
    return make


def tokens(count):
    def inputs():
        ids = torch.randint(3, VOCABULARY, (1, TOKENS))
        return [("input_ids", ids), ("attention_mask", torch.ones_like(ids)),
                ("token_type_ids", torch.zeros_like(ids))][:count]
    return inputs


def pixels(size=SIZE):
    return lambda: [("pixel_values", torch.randn(1, 3, size, size))]


class Recurrent(nn.Module):
    def __init__(self, kind, width=128):
        super().__init__()
        self.recurrent = getattr(nn, kind)(40, width, 2, batch_first=True)
        self.head = nn.Linear(width, 30)

    def forward(self, x):
        return self.head(self.recurrent(x)[0])


def convolutions(before, after):
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after),
                         nn.ReLU(), nn.Conv2d(after, after, 3, padding=1, bias=False),
                         nn.BatchNorm2d(after), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, widths=(16, 32, 64)):
        super().__init__()
        pairs = list(zip(widths, widths[1:]))
        self.first = convolutions(3, widths[0])
        self.down = nn.ModuleList(convolutions(a, b) for a, b in pairs)
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in reversed(pairs))
        self.join = nn.ModuleList(convolutions(2 * a, a) for a, _ in reversed(pairs))
        self.head = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x):
        kept = [self.first(x)]
        for down in self.down:
            kept.append(down(nn.functional.max_pool2d(kept[-1], 2)))
        x = kept.pop()
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([up(x), kept.pop()], 1))
        return self.head(x)


class SuperResolution(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1), nn.PReLU(width),
            nn.Conv2d(width, width, 3, padding=1)) for _ in range(4))
        self.last = nn.Sequential(nn.Conv2d(width, 4 * width, 3, padding=1), nn.PixelShuffle(2),
                                  nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return self.last(x)


def generator(width=32):
    """DCGAN's generator: transposed convolutions only."""
    layers, channels = [], 100
    for i, after in enumerate((8 * width, 4 * width, 2 * width, width)):
        layers += [nn.ConvTranspose2d(channels, after, 4, 2 if i else 1, 1 if i else 0, bias=False),
                   nn.BatchNorm2d(after), nn.ReLU()]
        channels = after
    return nn.Sequential(*layers, nn.ConvTranspose2d(channels, 3, 4, 2, 1, bias=False), nn.Tanh())


TORCH = {
    "lstm": lambda: (Recurrent("LSTM"), [("x", torch.randn(1, 50, 40))]),
    "gru": lambda: (Recurrent("GRU"), [("x", torch.randn(1, 50, 40))]),
    "transformer_encoder": lambda: (Encoder(), [("x", torch.randn(1, 64, 32))]),
    "unet": lambda: (UNet(), [("x", torch.randn(1, 3, 192, 192))]),
    "super_resolution": lambda: (SuperResolution(), [("x", torch.randn(1, 3, 96, 96))]),
    "dcgan": lambda: (generator(), [("x", torch.randn(1, 100, 1, 1))]),
}

TORCHVISION = {
    **{name: torchvision_model(name, SIZE) for name in (
        "resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0",
        "convnext_tiny", "regnet_y_400mf", "densenet121", "shufflenet_v2_x1_0", "squeezenet1_1",
        "mnasnet1_0")},
    "googlenet": torchvision_model("googlenet", SIZE, init_weights=False, aux_logits=False),
    "inception_v3": torchvision_model("inception_v3", 299, init_weights=False),
    "swin_v2_t": torchvision_model("swin_v2_t", 256),
    "deeplabv3_mobilenet": torchvision_segmentation("deeplabv3_mobilenet_v3_large"),
    "lraspp_mobilenet": torchvision_segmentation("lraspp_mobilenet_v3_large"),
    "ssdlite320": torchvision_detection("ssdlite320_mobilenet_v3_large", 320),
    "fcos_resnet50": torchvision_detection("fcos_resnet50_fpn", SIZE),
}

TIMM = {name: timm_model(name, size, **options) for name, size, options in (
    ("vit_tiny_patch16_224", SIZE, {}), ("deit_tiny_patch16_224", SIZE, {}),
    ("swin_tiny_patch4_window7_224", SIZE, {}), ("mobilevit_s", 256, {}),
    ("efficientformer_l1", SIZE, {}), ("fastvit_t8", 256, {}), ("edgenext_x_small", 256, {}),
    ("hrnet_w18_small", SIZE, {}), ("mixer_s32_224", SIZE, {}), ("mobilenetv4_conv_small", SIZE, {}),
    ("vit_small_patch14_dinov2", SIZE, {"img_size": SIZE}), ("mobileone_s0", SIZE, {}),
    ("repvit_m1", SIZE, {}), ("repvgg_a0", SIZE, {}), ("ghostnet_100", SIZE, {}),
    ("levit_128s", SIZE, {}), ("poolformer_s12", SIZE, {}), ("pvt_v2_b0", SIZE, {}),
    ("efficientvit_b0", SIZE, {}), ("convnextv2_atto", SIZE, {}), ("resnest14d", SIZE, {}),
    ("tf_efficientnet_lite0", SIZE, {}))}

TEXT = dict(vocab_size=VOCABULARY, hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
            intermediate_size=1024, max_position_embeddings=128)
DECODER = dict(TEXT, num_key_value_heads=2)

TRANSFORMERS = {
    "bert": transformer("BertModel", "BertConfig", TEXT, tokens(3)),
    "distilbert": transformer("DistilBertModel", "DistilBertConfig",
                              dict(vocab_size=VOCABULARY, dim=256, n_layers=4, n_heads=4,
                                   hidden_dim=1024), tokens(2)),
    "roberta": transformer("RobertaModel", "RobertaConfig", TEXT, tokens(2)),
    "albert": transformer("AlbertModel", "AlbertConfig", dict(TEXT, embedding_size=128), tokens(2)),
    "mpnet": transformer("MPNetModel", "MPNetConfig", TEXT, tokens(2)),
    "t5_encoder": transformer("T5EncoderModel", "T5Config",
                              dict(vocab_size=VOCABULARY, d_model=256, d_kv=64, d_ff=1024,
                                   num_layers=4, num_heads=4), tokens(2)),
    "gpt2": transformer("GPT2LMHeadModel", "GPT2Config",
                        dict(vocab_size=VOCABULARY, n_positions=128, n_embd=256, n_layer=4, n_head=4),
                        tokens(1), "logits"),
    "llama": transformer("LlamaForCausalLM", "LlamaConfig", DECODER, tokens(2), "logits"),
    "qwen2": transformer("Qwen2ForCausalLM", "Qwen2Config", DECODER, tokens(1), "logits"),
    "whisper_encoder": sub_encoder("WhisperModel", "WhisperConfig",
                                   dict(d_model=128, encoder_layers=2, decoder_layers=1,
                                        encoder_attention_heads=4, decoder_attention_heads=4,
                                        encoder_ffn_dim=512, decoder_ffn_dim=128),
                                   lambda: [("input_features", torch.randn(1, 80, 3000))]),
    "clip_vision": transformer("CLIPVisionModelWithProjection", "CLIPVisionConfig",
                               dict(hidden_size=192, intermediate_size=768, num_hidden_layers=4,
                                    num_attention_heads=3, patch_size=16), pixels(), "image_embeds"),
    "wav2vec2": transformer("Wav2Vec2ForCTC", "Wav2Vec2Config",
                            dict(vocab_size=32, hidden_size=128, num_hidden_layers=2,
                                 num_attention_heads=4, intermediate_size=256, conv_dim=(64,) * 7,
                                 num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4),
                            lambda: [("input_values", torch.randn(1, 8000))], "logits"),
    "segformer_b0": transformer("SegformerForSemanticSegmentation", "SegformerConfig", {}, pixels(),
                                "logits"),
}

ULTRALYTICS = {"yolov8n": yolo("yolov8n"), "yolo11n": yolo("yolo11n")}

LIBRARIES = {"torch": TORCH, "torchvision": TORCHVISION, "timm": TIMM, "transformers": TRANSFORMERS,
             "ultralytics": ULTRALYTICS}
MODELS = {name: make for models in LIBRARIES.values() for name, make in models.items()}
