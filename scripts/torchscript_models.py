"""Architectures for scripts/torchscript_sweep.py, with random weights and small inputs.

MODELS: name -> function that gives (module, [(input name, tensor), ...]). Needs torch 2, torchvision,
timm and transformers; each is imported only when a model of it is made.
"""

import torch
from torch import nn


def image(size, batch=1):
    return [("x", torch.randn(batch, 3, size, size))]


class Part(nn.Module):
    """Returns one entry of the result of a model that returns a dict or an object."""

    def __init__(self, model, names, part):
        super().__init__()
        self.model, self.names, self.part = model, names, part

    def forward(self, *inputs):
        result = self.model(**dict(zip(self.names, inputs))) if self.names else self.model(*inputs)
        return result[self.part] if self.part is not None else result


def torchvision_model(name, size=64, **options):
    def make():
        import torchvision.models as models
        return getattr(models, name)(weights=None, **options), image(size)
    return make


def torchvision_video(name):
    def make():
        import torchvision.models.video as models
        size, frames = (224, 16) if "mvit" in name or name == "s3d" else (64, 8)
        return getattr(models, name)(weights=None), [("x", torch.randn(1, 3, frames, size, size))]
    return make


def torchvision_segmentation(name):
    def make():
        import torchvision.models.segmentation as models
        model = getattr(models, name)(weights=None, weights_backbone=None, num_classes=5)
        return Part(model, None, "out"), image(96)
    return make


class Detector(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        found = self.model([x[0]])[0]
        return found["boxes"], found["scores"], found["labels"]


def torchvision_detection(name, size=128):
    def make():
        import torchvision.models.detection as models
        model = getattr(models, name)(weights=None, weights_backbone=None, num_classes=5)
        return Detector(model), [("x", torch.rand(1, 3, size, size))]
    return make


def timm_model(name, size=224, **options):
    def make():
        import timm
        return timm.create_model(name, pretrained=False, num_classes=10, **options), image(size)
    return make


def token_inputs(count, vocabulary=100, length=16):
    inputs = [("input_ids", torch.randint(3, vocabulary, (2, length)))]
    mask = torch.ones(2, length, dtype=torch.int64)
    mask[1, length - 4:] = 0
    if count > 1:
        inputs.append(("attention_mask", mask))
    if count > 2:
        inputs.append(("token_type_ids", torch.zeros(2, length, dtype=torch.int64)))
    return inputs


def pixels(size=32):
    return lambda: [("pixel_values", torch.randn(1, 3, size, size))]


def waves(length=4000):
    return lambda: [("input_values", torch.randn(1, length))]


def tokens(count):
    return lambda: token_inputs(count)


def transformer(model, config, options, inputs, part="last_hidden_state", attention=None):
    def make():
        import transformers
        settings = getattr(transformers, config)(**options)
        settings.use_cache = False
        if attention:
            settings._attn_implementation = attention
        made = getattr(transformers, model)(settings)
        example = inputs()
        return Part(made, [name for name, _ in example], part), example
    return make


def sub_encoder(model, config, options, inputs, get="get_encoder", part="last_hidden_state"):
    def make():
        import transformers
        settings = getattr(transformers, config)(**options)
        made = getattr(getattr(transformers, model)(settings), get)()
        example = inputs()
        return Part(made, [name for name, _ in example], part), example
    return make


SMALL = dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
             intermediate_size=64, max_position_embeddings=64)
VISION = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
              image_size=32, patch_size=8)
AUDIO = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
             conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2,
             num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4)
DECODER = dict(SMALL, num_key_value_heads=2)


class Encoder(nn.Module):
    """nn.TransformerEncoder, which has a fast path in eval mode."""

    def __init__(self, mask=None, **options):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, **options)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.mask = mask

    def forward(self, x):
        if self.mask == "causal":
            causal = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
            return self.encoder(x, mask=causal, is_causal=True)
        if self.mask == "padding":
            padding = torch.zeros(x.shape[0], x.shape[1], dtype=torch.bool)
            padding[:, -2:] = True
            return self.encoder(x, src_key_padding_mask=padding)
        return self.encoder(x)


class Attention(nn.Module):
    def __init__(self, need_weights, cross=False, batch_first=True):
        super().__init__()
        self.attention = nn.MultiheadAttention(32, 4, batch_first=batch_first)
        self.need_weights, self.cross = need_weights, cross

    def forward(self, x):
        memory = x.flip(1) if self.cross else x
        result, weights = self.attention(x, memory, memory, need_weights=self.need_weights)
        return (result, weights) if self.need_weights else result


class Product(nn.Module):
    """scaled_dot_product_attention with different arguments."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.project = nn.Linear(32, 64 if kind == "gqa" else 96)

    def forward(self, x):
        attend = nn.functional.scaled_dot_product_attention
        n, t, _ = x.shape
        if self.kind == "gqa":
            q, k, v = self.project(x).split([32, 16, 16], -1)
        else:
            q, k, v = self.project(x).chunk(3, -1)
        q, k, v = (y.reshape(n, t, -1, 8).transpose(1, 2) for y in (q, k, v))
        options = {
            "plain": {}, "causal": dict(is_causal=True), "scale": dict(scale=0.5),
            "gqa": dict(enable_gqa=True, is_causal=True),
            "bool": dict(attn_mask=torch.ones(t, t, dtype=torch.bool).tril()),
            "float": dict(attn_mask=torch.linspace(-1, 1, t * t).reshape(t, t)),
        }[self.kind]
        return attend(q, k, v, **options).transpose(1, 2).reshape(n, t, -1)


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = nn.RMSNorm(32), nn.Linear(32, 16)

    def forward(self, x):
        return self.linear(self.norm(x))


def sequence_model(make_module):
    return lambda: (make_module(), [("x", torch.randn(2, 8, 32))])


TORCH = {
    "encoder": sequence_model(Encoder),
    "encoder_norm_first_gelu": sequence_model(lambda: Encoder(norm_first=True, activation="gelu")),
    "encoder_causal": sequence_model(lambda: Encoder("causal")),
    "encoder_padding": sequence_model(lambda: Encoder("padding")),
    "attention": sequence_model(lambda: Attention(False)),
    "attention_weights": sequence_model(lambda: Attention(True)),
    "attention_cross": sequence_model(lambda: Attention(True, cross=True)),
    "attention_time_first": sequence_model(lambda: Attention(False, batch_first=False)),
    "rms_norm": sequence_model(RmsNorm),
    **{f"sdpa_{kind}": sequence_model(lambda kind=kind: Product(kind))
       for kind in ("plain", "causal", "scale", "gqa", "bool", "float")},
}

TORCHVISION = {
    **{f"tv_{name}": torchvision_model(name) for name in (
        "alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "efficientnet_v2_s", "mnasnet0_5",
        "mobilenet_v2", "mobilenet_v3_small", "regnet_x_400mf", "regnet_y_400mf", "resnet18",
        "resnext50_32x4d", "shufflenet_v2_x0_5", "squeezenet1_1", "vgg11", "wide_resnet50_2",
        "swin_t", "swin_v2_t")},
    "tv_googlenet": torchvision_model("googlenet", init_weights=False, aux_logits=False),
    "tv_inception_v3": torchvision_model("inception_v3", 96, init_weights=False),
    "tv_vit_b_32": torchvision_model("vit_b_32", 64, image_size=64),
    "tv_maxvit_t": torchvision_model("maxvit_t", 224),
    **{f"tv_{name}": torchvision_segmentation(name) for name in (
        "fcn_resnet50", "deeplabv3_resnet50", "deeplabv3_mobilenet_v3_large",
        "lraspp_mobilenet_v3_large")},
    **{f"tv_{name}": torchvision_video(name) for name in (
        "r3d_18", "mc3_18", "r2plus1d_18", "s3d", "swin3d_t", "mvit_v1_b", "mvit_v2_s")},
    **{f"tv_{name}": torchvision_detection(name) for name in (
        "fasterrcnn_mobilenet_v3_large_320_fpn", "retinanet_resnet50_fpn",
        "ssdlite320_mobilenet_v3_large", "fcos_resnet50_fpn")},
}

TIMM = {f"timm_{name}": timm_model(name, size, **options) for name, size, options in (
    ("vit_tiny_patch16_224", 224, {}),
    ("deit_tiny_distilled_patch16_224", 224, {}), ("deit3_small_patch16_224", 224, {}),
    ("vit_small_patch14_dinov2", 112, {"img_size": 112}),
    ("vit_small_patch14_reg4_dinov2", 112, {"img_size": 112}),
    ("vit_base_patch16_siglip_224", 224, {"depth": 2}),
    ("vit_relpos_small_patch16_224", 224, {}), ("vit_small_r26_s32_224", 224, {}),
    ("swin_tiny_patch4_window7_224", 224, {}), ("swinv2_tiny_window8_256", 256, {}),
    ("convnext_atto", 96, {}), ("convnextv2_atto", 96, {}), ("maxvit_tiny_tf_224", 224, {}),
    ("coatnet_0_rw_224", 224, {}), ("coat_lite_tiny", 224, {}), ("coat_tiny", 224, {}),
    ("crossvit_tiny_240", 240, {}), ("levit_128s", 224, {}), ("xcit_nano_12_p16_224", 224, {}),
    ("beit_base_patch16_224", 224, {"depth": 2}), ("beitv2_base_patch16_224", 224, {"depth": 2}),
    ("eva02_tiny_patch14_224", 224, {}), ("efficientnet_b0", 96, {}), ("efficientnetv2_rw_t", 96, {}),
    ("tf_efficientnet_lite0", 96, {}), ("nf_regnet_b1", 96, {}), ("nfnet_l0", 96, {}),
    ("dm_nfnet_f0", 96, {}), ("regnetx_002", 96, {}), ("regnety_002", 96, {}),
    ("resnest14d", 96, {}), ("res2net50_26w_4s", 96, {}), ("hrnet_w18_small", 96, {}),
    ("mobilevit_xxs", 128, {}), ("mobilevitv2_050", 128, {}), ("mobilenetv4_conv_small", 96, {}),
    ("mobilenetv4_hybrid_medium", 128, {}), ("fastvit_t8", 128, {}), ("repvit_m1", 128, {}),
    ("repvgg_a0", 96, {}), ("mixer_s32_224", 224, {}), ("gmlp_s16_224", 224, {}),
    ("resmlp_12_224", 224, {}), ("poolformer_s12", 96, {}), ("poolformerv2_s12", 96, {}),
    ("caformer_s18", 96, {}), ("volo_d1_224", 224, {}), ("cait_xxs24_224", 224, {}),
    ("twins_svt_small", 224, {}), ("twins_pcpvt_small", 224, {}), ("pvt_v2_b0", 96, {}),
    ("davit_tiny", 224, {}), ("focalnet_tiny_srf", 96, {}), ("gcvit_xxtiny", 224, {}),
    ("tiny_vit_5m_224", 224, {}), ("efficientvit_b0", 96, {}), ("efficientvit_m0", 224, {}),
    ("hiera_tiny_224", 224, {}), ("mvitv2_tiny", 224, {}), ("nest_tiny", 224, {}),
    ("pit_ti_224", 224, {}), ("sequencer2d_s", 224, {}), ("tnt_s_patch16_224", 224, {}),
    ("visformer_tiny", 224, {}), ("edgenext_xx_small", 96, {}), ("efficientformer_l1", 224, {}),
    ("efficientformerv2_s0", 224, {}), ("inception_next_tiny", 96, {}), ("ghostnet_100", 96, {}),
    ("ghostnetv2_100", 96, {}), ("mobileone_s0", 96, {}), ("dla34", 96, {}), ("dpn68", 96, {}),
    ("densenet121", 96, {}), ("skresnet18", 96, {}), ("selecsls42b", 96, {}), ("vovnet39a", 96, {}),
    ("ese_vovnet19b_dw", 96, {}), ("xception41", 96, {}), ("hardcorenas_a", 96, {}),
    ("lcnet_050", 96, {}), ("tinynet_e", 96, {}), ("rexnet_100", 96, {}), ("semnasnet_075", 96, {}),
    ("botnet26t_256", 256, {}), ("halonet26t", 256, {}), ("lambda_resnet26t", 256, {}),
    ("eca_resnet33ts", 96, {}), ("gcresnet33ts", 96, {}), ("bat_resnext26ts", 256, {}),
    ("cs3darknet_s", 96, {}), ("cspresnet50", 96, {}), ("convmixer_768_32", 64, {}),
    ("hgnetv2_b0", 96, {}), ("starnet_s1", 96, {}), ("rdnet_tiny", 96, {}), ("shvit_s1", 224, {}),
    ("swiftformer_xs", 224, {}), ("mambaout_femto", 96, {}), ("naflexvit_base_patch16_gap", 96, {"depth": 2}),
)}

TRANSFORMERS = {
    "bert": transformer("BertModel", "BertConfig", SMALL, tokens(3)),
    "bert_eager": transformer("BertModel", "BertConfig", SMALL, tokens(3), attention="eager"),
    "distilbert": transformer("DistilBertModel", "DistilBertConfig",
                              dict(vocab_size=100, dim=32, n_layers=2, n_heads=4, hidden_dim=64),
                              tokens(2)),
    "roberta": transformer("RobertaModel", "RobertaConfig", SMALL, tokens(2)),
    "xlm_roberta": transformer("XLMRobertaModel", "XLMRobertaConfig", SMALL, tokens(2)),
    "camembert": transformer("CamembertModel", "CamembertConfig", SMALL, tokens(2)),
    "albert": transformer("AlbertModel", "AlbertConfig", dict(SMALL, embedding_size=16), tokens(2)),
    "electra": transformer("ElectraModel", "ElectraConfig", dict(SMALL, embedding_size=16),
                           tokens(2)),
    "deberta": transformer("DebertaModel", "DebertaConfig",
                           dict(SMALL, relative_attention=True, pos_att_type=["c2p", "p2c"]),
                           tokens(2)),
    "deberta_v2": transformer("DebertaV2Model", "DebertaV2Config",
                              dict(SMALL, relative_attention=True, pos_att_type=["c2p", "p2c"],
                                   share_att_key=True, position_buckets=8), tokens(2)),
    "mpnet": transformer("MPNetModel", "MPNetConfig", SMALL, tokens(2)),
    "layoutlm": transformer("LayoutLMModel", "LayoutLMConfig", SMALL, tokens(2)),
    "longformer": transformer("LongformerModel", "LongformerConfig",
                              dict(SMALL, attention_window=[8, 8]), tokens(2)),
    "bigbird": transformer("BigBirdModel", "BigBirdConfig",
                           dict(SMALL, attention_type="original_full"), tokens(2)),
    "funnel": transformer("FunnelBaseModel", "FunnelConfig",
                          dict(vocab_size=100, block_sizes=[1, 1], d_model=32, n_head=4, d_head=8,
                               d_inner=64), tokens(2)),
    "squeezebert": transformer("SqueezeBertModel", "SqueezeBertConfig", dict(SMALL, embedding_size=32),
                               tokens(2)),
    "mobilebert": transformer("MobileBertModel", "MobileBertConfig",
                              dict(SMALL, embedding_size=32, true_hidden_size=32,
                                   intra_bottleneck_size=32), tokens(2)),
    "convbert": transformer("ConvBertModel", "ConvBertConfig", dict(SMALL, embedding_size=32),
                            tokens(2)),
    "fnet": transformer("FNetModel", "FNetConfig", SMALL, tokens(1)),
    "modernbert": transformer("ModernBertModel", "ModernBertConfig",
                              dict(SMALL, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                                   cls_token_id=1, sep_token_id=2), tokens(2)),
    "xlnet": transformer("XLNetModel", "XLNetConfig",
                         dict(vocab_size=100, d_model=32, n_layer=2, n_head=4, d_inner=64),
                         tokens(2)),
    "t5": transformer("T5EncoderModel", "T5Config",
                      dict(vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4),
                      tokens(2)),
    "bart": sub_encoder("BartModel", "BartConfig",
                        dict(vocab_size=100, d_model=32, encoder_layers=2, decoder_layers=1,
                             encoder_attention_heads=4, decoder_attention_heads=4,
                             encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=64),
                        tokens(2)),
    "whisper": sub_encoder("WhisperModel", "WhisperConfig",
                           dict(d_model=32, encoder_layers=2, decoder_layers=1,
                                encoder_attention_heads=4, decoder_attention_heads=4,
                                encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=16,
                                max_source_positions=50),
                           lambda: [("input_features", torch.randn(1, 16, 100))]),
    "wav2vec2": transformer("Wav2Vec2Model", "Wav2Vec2Config", AUDIO, waves()),
    "hubert": transformer("HubertModel", "HubertConfig", AUDIO, waves()),
    "wavlm": transformer("WavLMModel", "WavLMConfig", AUDIO, waves()),
    "sew": transformer("SEWModel", "SEWConfig", dict(AUDIO, squeeze_factor=2), waves()),
    "audio_spectrogram": transformer("ASTModel", "ASTConfig",
                                     dict(VISION, num_mel_bins=16, max_length=64),
                                     lambda: [("input_values", torch.randn(1, 64, 16))]),
    "clip_vision": transformer("CLIPVisionModel", "CLIPVisionConfig", VISION, pixels()),
    "clip_text": transformer("CLIPTextModel", "CLIPTextConfig", SMALL, tokens(2)),
    "siglip_vision": transformer("SiglipVisionModel", "SiglipVisionConfig", VISION, pixels()),
    "siglip_text": transformer("SiglipTextModel", "SiglipTextConfig", SMALL, tokens(2)),
    "vit": transformer("ViTModel", "ViTConfig", VISION, pixels()),
    "deit": transformer("DeiTModel", "DeiTConfig", VISION, pixels()),
    "dinov2": transformer("Dinov2Model", "Dinov2Config", VISION, pixels()),
    "dinov3": transformer("DINOv3ViTModel", "DINOv3ViTConfig", VISION, pixels()),
    "beit": transformer("BeitModel", "BeitConfig", VISION, pixels()),
    "data2vec_vision": transformer("Data2VecVisionModel", "Data2VecVisionConfig", VISION, pixels()),
    "swin": transformer("SwinModel", "SwinConfig",
                        dict(image_size=64, embed_dim=16, depths=[1, 1], num_heads=[2, 2],
                             window_size=4), pixels(64)),
    "swinv2": transformer("Swinv2Model", "Swinv2Config",
                          dict(image_size=64, embed_dim=16, depths=[1, 1], num_heads=[2, 2],
                               window_size=4), pixels(64)),
    "segformer": transformer("SegformerModel", "SegformerConfig", {}, pixels(64)),
    "convnext": transformer("ConvNextModel", "ConvNextConfig",
                            dict(hidden_sizes=[8, 16, 32, 64], depths=[1, 1, 1, 1]), pixels(64)),
    "resnet": transformer("ResNetModel", "ResNetConfig",
                          dict(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1]), pixels(64)),
    "mobilevit": transformer("MobileViTModel", "MobileViTConfig", dict(image_size=64), pixels(64)),
    "levit": transformer("LevitModel", "LevitConfig", dict(image_size=64), pixels(64)),
    "poolformer": transformer("PoolFormerModel", "PoolFormerConfig",
                              dict(depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 32, 64]), pixels(64)),
    "pvt": transformer("PvtModel", "PvtConfig", dict(image_size=64), pixels(64)),
    "dpt": transformer("DPTModel", "DPTConfig", VISION, pixels()),
    "detr": transformer("DetrModel", "DetrConfig",
                        dict(use_timm_backbone=False, use_pretrained_backbone=False, d_model=32,
                             encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
                             decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
                             num_queries=5, backbone=None,
                             backbone_config=dict(model_type="resnet", out_features=["stage4"])),
                        pixels(64)),
    "yolos": transformer("YolosModel", "YolosConfig",
                         dict(VISION, image_size=[32, 32], num_detection_tokens=5), pixels()),
    "gpt2": transformer("GPT2Model", "GPT2Config",
                        dict(vocab_size=100, n_positions=64, n_embd=32, n_layer=2, n_head=4),
                        tokens(2)),
    "gpt_neox": transformer("GPTNeoXModel", "GPTNeoXConfig", SMALL, tokens(1)),
    "opt": transformer("OPTModel", "OPTConfig",
                       dict(SMALL, ffn_dim=64, word_embed_proj_dim=32), tokens(2)),
    "llama": transformer("LlamaModel", "LlamaConfig", DECODER, tokens(2)),
    "llama_one_input": transformer("LlamaModel", "LlamaConfig", DECODER, tokens(1)),
    "llama_eager": transformer("LlamaModel", "LlamaConfig", DECODER, tokens(2), attention="eager"),
    "mistral": transformer("MistralModel", "MistralConfig", dict(DECODER, sliding_window=8),
                           tokens(2)),
    "qwen2": transformer("Qwen2Model", "Qwen2Config", DECODER, tokens(1)),
    "qwen3": transformer("Qwen3Model", "Qwen3Config", dict(DECODER, head_dim=8), tokens(2)),
    "gemma": transformer("GemmaModel", "GemmaConfig", dict(DECODER, head_dim=8), tokens(1)),
    "gemma2": transformer("Gemma2Model", "Gemma2Config", dict(DECODER, head_dim=8), tokens(2)),
    "phi": transformer("PhiModel", "PhiConfig", SMALL, tokens(1)),
    "phi3": transformer("Phi3Model", "Phi3Config", dict(DECODER, pad_token_id=0), tokens(1)),
}

MODELS = {**TORCH, **TORCHVISION, **TIMM, **{f"hf_{name}": make for name, make in TRANSFORMERS.items()}}
