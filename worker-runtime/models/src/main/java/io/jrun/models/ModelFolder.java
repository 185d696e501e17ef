package io.jrun.models;

import io.jrun.comm.Device;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import io.jrun.models.bert.Bert;
import io.jrun.models.bert.BertConfig;
import io.jrun.models.gpt2.Gpt2;
import io.jrun.models.gpt2.Gpt2Config;
import io.jrun.models.llama.Llama;
import io.jrun.models.llama.LlamaConfig;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.models.transformer.Projection;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.SafetensorsFolder;
import io.jrun.train.json.JsonObject;
import io.jrun.train.storage.AtomicFile;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.weights.WeightFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.DoubleConsumer;
import org.bytedeco.pytorch.Tensor;

/**
 * A model on disk: the configuration and the weights. A Hugging Face folder has {@code config.json}, a folder of Meta's
 * {@code params.json}. The folder of a single file of weights has the configuration.
 */
public final class ModelFolder {
    private static final String CONFIG = "config.json";
    private static final String META_CONFIG = "params.json";
    /** A configuration has some kilobytes. */
    private static final int MAX_CONFIG_BYTES = 16 << 20;

    private ModelFolder() {}

    /**
     * Builds the model that a folder describes on the CPU, with zero parameters. {@code WeightLoader.load} with
     * {@link LanguageModel#mapping()} fills the parameters.
     *
     * @param path a folder, or a file of weights in a folder
     * @throws CheckpointException if the configuration is missing, malformed, or of a model that jrun lacks; the
     *     message is one line
     */
    public static LanguageModel build(Path path) {
        return build(path, Device.CPU, _ -> {});
    }

    /**
     * As {@link #build(Path)}, on a device.
     *
     * @param need receives the bytes of the float32 parameters, without norms and biases, before memory is allocated;
     *     may throw {@link IllegalArgumentException} with one line
     */
    public static LanguageModel build(Path path, Device device, DoubleConsumer need) {
        Libtorch.load();
        if (!Files.exists(path)) {
            throw new CheckpointException(path + " does not exist. Give the folder of a model, or a file of weights.");
        }
        Path folder = Files.isDirectory(path) ? path : path.toAbsolutePath().resolveSibling("");
        Path config = folder.resolve(CONFIG);
        Path metaConfig = folder.resolve(META_CONFIG);
        try {
            if (Files.exists(config, LinkOption.NOFOLLOW_LINKS)) {
                String json = UserFile.text(config, MAX_CONFIG_BYTES);
                LanguageModel model = build(JsonObject.parse(config.toString(), json), device, need);
                model.keepConfigJson(json);
                return model;
            }
            if (Files.exists(metaConfig, LinkOption.NOFOLLOW_LINKS)) {
                return buildMeta(JsonObject.read(metaConfig), path, device, need);
            }
        } catch (IOException e) {
            throw new CheckpointException(
                    "cannot read the configuration in " + folder + ": " + FileError.reason(e, folder), e);
        } catch (IllegalArgumentException e) {
            throw new CheckpointException(String.valueOf(e.getMessage()), e);
        } catch (CheckpointException e) {
            throw e;
        } catch (RuntimeException e) {
            String reason = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
            throw new CheckpointException(
                    "cannot build the model in " + folder + ": " + reason + ". Check the sizes in the configuration.",
                    e);
        }
        throw new CheckpointException(folder + " has neither " + CONFIG + " (Hugging Face) nor " + META_CONFIG
                + " (Meta). Put the configuration of the model beside the weights.");
    }

    /**
     * Saves a model as a Hugging Face folder: weights first, then config.json. The folder of a model that was built
     * from a config.json gets the same config.json, with all its fields, such as {@code torch_dtype}.
     *
     * @throws CheckpointException if the folder cannot be written
     */
    public static void save(LanguageModel model, Path folder) {
        save(model, model.wholeTensors(), folder);
    }

    /**
     * Saves tensors that were gathered from several ranks, such as those of
     * {@code FullyShardedDataParallel.wholeParameters}, as the Hugging Face folder of a model.
     *
     * @param whole the parameters and buffers of the model by their names; adapters are left out
     * @throws CheckpointException if the folder cannot be written
     * @throws IllegalArgumentException if a tensor of the model is missing
     */
    public static void save(LanguageModel model, Map<String, Tensor> whole, Path folder) {
        String own = model.configJson(); // Also refuses a model that has no config.json.
        byte[] config = model.givenConfigJson().orElse(own).getBytes(StandardCharsets.UTF_8);
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        for (String name : ModuleTensors.all(model).keySet()) {
            if (!name.contains(Projection.ADAPTER_INFIX)) {
                Tensor tensor = whole.get(name);
                if (tensor == null) {
                    throw new IllegalArgumentException("the tensor '" + name + "' of the model is missing");
                }
                tensors.put(name, model.toFileOrder(name, tensor));
            }
        }
        SafetensorsFolder.write(folder, tensors, Map.of("format", "pt"), SafetensorsFolder.DEFAULT_SHARD_BYTES);
        try {
            AtomicFile.write(folder.resolve(CONFIG), channel -> {
                ByteBuffer bytes = ByteBuffer.wrap(config);
                while (bytes.hasRemaining()) {
                    int _ = channel.write(bytes);
                }
            });
        } catch (IOException e) {
            throw new CheckpointException(
                    "cannot write " + folder.resolve(CONFIG) + ": " + FileError.reason(e, folder.resolve(CONFIG)), e);
        }
    }

    private static LanguageModel build(JsonObject config, Device device, DoubleConsumer need) {
        String type = config.text("model_type").orElse("none").toLowerCase(Locale.ROOT);
        LanguageModel model = switch (type) {
            case "bert" -> {
                BertConfig sizes = BertConfig.of(config);
                need.accept(sizes.parameterBytes());
                yield new Bert(sizes, device);
            }
            case "gpt2" -> {
                Gpt2Config sizes = Gpt2Config.of(config);
                need.accept(sizes.parameterBytes());
                yield new Gpt2(sizes, device);
            }
            case "llama" -> {
                LlamaConfig sizes = LlamaConfig.of(config);
                need.accept(sizes.parameterBytes());
                yield new Llama(sizes, device);
            }
            default ->
                throw new IllegalArgumentException(
                        "config.json has the model_type '" + type + "'; jrun has bert, gpt2 and llama");
        };
        model.build();
        model.addNotes(
                switch (model) {
                    case Bert _ -> BertConfig.notes(config);
                    case Gpt2 _ -> Gpt2Config.notes(config);
                    default -> LlamaConfig.notes(config);
                });
        return model;
    }

    private static LanguageModel buildMeta(JsonObject params, Path path, Device device, DoubleConsumer need) {
        try (WeightFiles files = WeightFiles.open(path)) {
            LlamaConfig sizes = LlamaConfig.ofMeta(
                    params, rows(files, "tok_embeddings.weight"), rows(files, "layers.0.feed_forward.w1.weight"));
            need.accept(sizes.parameterBytes());
            Llama model = new Llama(sizes, device);
            model.build();
            model.addNotes(LlamaConfig.notesOfMeta(params));
            return model;
        }
    }

    private static long rows(WeightFiles files, String name) {
        return files.fileOf(name).stored(name).shape().getFirst();
    }
}
