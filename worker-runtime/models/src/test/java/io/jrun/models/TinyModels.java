package io.jrun.models;

import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.checkpoint.SafetensorsFolder;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.weights.WeightLoader;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.StringTokenizer;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/** Tiny models with the weights of make.py, and the logits that make.py has computed for {@code TOKENS}. */
public final class TinyModels {
    private static final long[] TOKENS = {1, 2, 3, 60, 0, 17, 42};

    private static final Map<String, String> CONFIGS = Map.of("llama3", """
            {"model_type": "llama", "vocab_size": 61, "max_position_embeddings": 16, "hidden_size": 24,
             "num_hidden_layers": 2, "num_attention_heads": 3, "num_key_value_heads": 1, "intermediate_size": 40,
             "rms_norm_eps": 1e-05, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
             "high_freq_factor": 8.0, "original_max_position_embeddings": 200}}""", "gpt2", """
            {"model_type": "gpt2", "vocab_size": 61, "n_positions": 16, "n_embd": 24, "n_layer": 2, "n_head": 3}""", "bert", """
            {"model_type": "bert", "vocab_size": 61, "max_position_embeddings": 16, "hidden_size": 24,
             "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40}""", "llama", """
            {"model_type": "llama", "vocab_size": 61, "max_position_embeddings": 16, "hidden_size": 24,
             "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2, "intermediate_size": 40,
             "rms_norm_eps": 1e-05}""");

    private TinyModels() {}

    /** The tensors of a file of the model. */
    public static Map<String, Tensor> tensors(LanguageModel model) {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        ModuleTensors.all(model).forEach((name, own) -> tensors.put(name, tensor(name, TensorMemory.sizes(own))));
        return tensors;
    }

    /** Writes the configuration only. */
    public static LanguageModel describe(Path folder, String name) throws IOException {
        return describe(folder, name, "");
    }

    /**
     * Writes the configuration only.
     *
     * @param fields further fields of config.json: {@code "key": value}
     */
    public static LanguageModel describe(Path folder, String name, String fields) throws IOException {
        Files.createDirectories(folder);
        String config = Objects.requireNonNull(CONFIGS.get(name));
        Files.writeString(
                folder.resolve("config.json"),
                fields.isEmpty() ? config : config.replaceFirst("\\{", "{" + fields + ", "));
        return ModelFolder.build(folder);
    }

    /** Writes a Hugging Face folder and returns the model with its weights. */
    public static LanguageModel write(Path folder, String name) throws IOException {
        LanguageModel model = describe(folder, name);
        SafetensorsFolder.write(folder, tensors(model), Map.of(), 20_000);
        return load(folder);
    }

    /**
     * Writes the Llama as a folder of Meta's, and returns the folder. Row r of half h in Hugging Face's file is row 2r +
     * h of Meta's.
     */
    public static Path writeMeta(Path folder) throws IOException {
        Map<String, Tensor> meta = new LinkedHashMap<>();
        tensors(describe(folder.resolve("hf"), "llama"))
                .forEach((name, tensor) -> meta.put(metaName(name), metaRows(name, tensor)));
        Path metaFolder = Files.createDirectories(folder.resolve("meta"));
        Files.writeString(
                metaFolder.resolve("params.json"),
                "{\"dim\": 24, \"n_layers\": 2, \"n_heads\": 6, \"n_kv_heads\": 2, \"vocab_size\": -1,"
                        + " \"norm_eps\": 1e-05}");
        Safetensors.write(metaFolder.resolve("model.safetensors"), meta, Map.of());
        return metaFolder;
    }

    static String metaName(String name) {
        return name.replace("model.embed_tokens", "tok_embeddings")
                .replace("lm_head", "output")
                .replace("model.norm", "norm")
                .replace("model.layers", "layers")
                .replaceFirst("self_attn\\.([qkvo])_proj", "attention.w$1")
                .replace("mlp.gate_proj", "feed_forward.w1")
                .replace("mlp.down_proj", "feed_forward.w2")
                .replace("mlp.up_proj", "feed_forward.w3")
                .replace("input_layernorm", "attention_norm")
                .replace("post_attention_layernorm", "ffn_norm");
    }

    private static Tensor metaRows(String name, Tensor tensor) {
        if (!name.contains("q_proj") && !name.contains("k_proj")) {
            return tensor;
        }
        long headWidth = 4;
        return tensor.view(-1, 2, headWidth / 2, tensor.size(1))
                .transpose(1, 2)
                .reshape(tensor.size(0), tensor.size(1));
    }

    /** Loads a folder in this process. */
    public static LanguageModel load(Path path) {
        LanguageModel model = ModelFolder.build(path);
        WeightLoader.load(model, path, model.mapping());
        return model;
    }

    /** The logits [S, V] of {@code TOKENS}. */
    public static Tensor logits(LanguageModel model) {
        try (NoGradGuard _ = new NoGradGuard()) {
            return model.forward(Tensor.create(TOKENS, 1, TOKENS.length)).select(0, 0);
        }
    }

    /** The logits that make.py has computed. */
    public static Tensor golden(String name) throws IOException {
        List<Float> values = new ArrayList<>();
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(
                Objects.requireNonNull(TinyModels.class.getResourceAsStream("logits.txt")), StandardCharsets.UTF_8))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                StringTokenizer words = new StringTokenizer(line);
                if (words.nextToken().equals(name)) {
                    while (words.hasMoreTokens()) {
                        values.add(Float.valueOf(words.nextToken()));
                    }
                }
            }
        }
        float[] array = new float[values.size()];
        for (int i = 0; i < array.length; i++) {
            array[i] = values.get(i);
        }
        return Tensor.create(array, TOKENS.length, array.length / TOKENS.length);
    }

    /** The largest absolute difference of two tensors. */
    public static double difference(Tensor a, Tensor b) {
        return a.sub(b).abs().max().item_double();
    }

    /** The values of make.py for the tensor with a name. */
    public static Tensor tensor(String name, long... shape) {
        long seed = 0;
        for (byte c : name.getBytes(StandardCharsets.UTF_8)) {
            seed = seed * 31 + c;
        }
        boolean isNorm =
                name.endsWith("weight") && (name.toLowerCase(Locale.ROOT).contains("norm") || name.contains(".ln_"));
        int count = 1;
        for (long size : shape) {
            count = Math.toIntExact(count * size);
        }
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) ((mix(seed + i) >>> 40) / (double) (1 << 24) - 0.5 + (isNorm ? 1 : 0));
        }
        return Tensor.create(values, shape);
    }

    /** SplitMix64 (Steele et al. 2014). */
    private static long mix(long state) {
        long x = state + 0x9E3779B97F4A7C15L;
        x = (x ^ (x >>> 30)) * 0xBF58476D1CE4E5B9L;
        x = (x ^ (x >>> 27)) * 0x94D049BB133111EBL;
        return x ^ (x >>> 31);
    }
}
