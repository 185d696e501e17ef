package io.jrun.examples.finetune;

import io.jrun.comm.Device;
import io.jrun.comm.World;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.OutputFile;
import io.jrun.comm.file.UserFile;
import io.jrun.models.ModelFolder;
import io.jrun.models.lora.Lora;
import io.jrun.models.lora.LoraOptions;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.ModelState;
import io.jrun.train.model.ModelDefinition;
import io.jrun.train.model.ModelSetup;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.tensorparallel.ParallelStyle;
import io.jrun.train.token.TokenFile;
import io.jrun.train.token.Tokenizer;
import io.jrun.train.token.Tokenizers;
import io.jrun.train.weights.WeightLoader;
import io.jrun.trainer.ModelFactory;
import io.jrun.trainer.arguments.InvalidArgumentException;
import io.jrun.trainer.data.DataOptions;
import io.jrun.trainer.data.TokenCorpus;
import io.jrun.trainer.data.TokenWindows;
import io.jrun.trainer.data.TrainingData;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Consumer;
import java.util.function.DoubleConsumer;
import org.bytedeco.pytorch.Tensor;

/**
 * A pre-trained model, with adapters or without.
 *
 * @param description the model without memory for its parameters
 * @param untied names of tensors that the files have twice
 * @param parameterBytes bytes of the parameters in float32
 * @param identity the model and its adapters in words: equal for a training that a checkpoint can go on with
 */
record PretrainedModel(
        FinetuneOptions options, LanguageModel description, List<String> untied, double parameterBytes, String identity)
        implements ModelFactory {
    private static final Device WITHOUT_MEMORY = new Device("meta", 0);

    /** Besides tokenizer.json, the files of older tokenizers of Hugging Face. */
    private static final List<String> TOKENIZER_FILES = List.of(
            "tokenizer.json",
            "tokenizer_config.json",
            "special_tokens_map.json",
            "added_tokens.json",
            "vocab.txt",
            "vocab.json",
            "merges.txt",
            "tokenizer.model",
            "chat_template.jinja",
            "generation_config.json");

    /**
     * Reads the configuration of the model.
     *
     * @param need see {@link ModelFolder#build(Path, Device, DoubleConsumer)}
     * @throws InvalidArgumentException with one line, if the configuration cannot be used
     */
    static PretrainedModel describe(FinetuneOptions options, DoubleConsumer need) {
        double[] bytes = {0};
        try {
            LanguageModel description = ModelFolder.build(options.model(), WITHOUT_MEMORY, needed -> {
                need.accept(needed);
                bytes[0] = needed;
            });
            List<String> untied = WeightLoader.untie(description, options.model(), description.mapping());
            return new PretrainedModel(options, description, untied, bytes[0], identity(options, description));
        } catch (CheckpointException e) {
            throw new InvalidArgumentException(String.valueOf(e.getMessage()));
        }
    }

    private static String identity(FinetuneOptions options, LanguageModel description) {
        String adapters = options.loraRank() > 0
                ? ", adapters of rank " + options.loraRank() + " and alpha " + options.loraAlpha() + " on "
                        + String.join(", ", options.loraTargets().orElseGet(description::adapterTargets))
                : options.adapters().map(_ -> ", adapters of a folder").orElse("");
        return description.getClass().getSimpleName().toLowerCase(Locale.ROOT) + ", " + description.blockCount()
                + " layers, configuration "
                + Integer.toHexString(description.configJson().hashCode()) + adapters;
    }

    @Override
    public ModelDefinition of(ModelSetup setup) {
        return new Definition(this, setup);
    }

    @Override
    public OptionalInt longestContext() {
        return OptionalInt.of(Math.toIntExact(Math.min(description.context(), Integer.MAX_VALUE)));
    }

    /** Token files need no tokenizer. The tokenizer of the model must fit, if there is one. */
    @Override
    public DataOptions data(DataOptions asked) {
        DataOptions given = asked.withModelFolder(options.folder());
        boolean isText = given.data()
                .filter(path -> path.toString().endsWith(TokenFile.SUFFIX))
                .isEmpty();
        return isText || Files.exists(Tokenizers.fileOf(options.folder()))
                ? given.withDefaultTokenizer(options.folder().toString())
                : given;
    }

    @Override
    public TrainingData<?> open(DataOptions data, int context, World world) {
        return description.isCausal()
                ? ModelFactory.super.open(data, context, world)
                : TokenWindows.open(
                        data,
                        context,
                        world,
                        (windows, step, corpus) ->
                                MaskedTexts.of(windows, maskToken(corpus), corpus.vocabulary(), options.seed(), step));
    }

    private int maskToken(TokenCorpus corpus) {
        OptionalInt ofTokenizer = corpus.tokenizer().map(Tokenizer::maskToken).orElse(OptionalInt.empty());
        OptionalInt token = options.maskToken().isPresent() ? options.maskToken() : ofTokenizer;
        if (token.isEmpty() || token.getAsInt() >= description.vocabulary()) {
            throw new InvalidArgumentException("a BERT learns to predict hidden tokens, but "
                    + (token.isEmpty()
                            ? "the tokenizer has no [MASK]"
                            : "token " + token.getAsInt() + " is none of its " + description.vocabulary() + " tokens")
                    + ". Give --mask-token=N.");
        }
        return token.getAsInt();
    }

    @Override
    public void requireWritable(Path out) throws IOException {
        OutputFile.requireWritableFolder(out);
    }

    /** Writes the model, or its adapters, as a folder of Hugging Face or PEFT. */
    @Override
    public void save(TrainableModel model, Map<String, Tensor> whole, Path out) {
        LanguageModel alone = build(Device.CPU);
        Optional<Lora> lora = attach(alone);
        alone.to(model.parameters().get(0).scalar_type(), false);
        ModelState.load(alone, whole);
        write(alone, lora, out);
    }

    /** Loads the model in this process alone, adds the adapters to its weights, and writes the folder. */
    void merge(Path out) {
        LanguageModel model = build(Device.CPU);
        long _ = WeightLoader.load(model, options.model(), model.mapping());
        write(model, attach(model), out);
    }

    private void write(LanguageModel whole, Optional<Lora> lora, Path out) {
        if (lora.isPresent() && !options.isMerged()) {
            lora.get().save(out);
        } else {
            lora.ifPresent(Lora::merge);
            ModelFolder.save(whole, out);
            copyTokenizer(options.folder(), out);
        }
        System.out.println("saved " + out);
    }

    /** The new folder is complete: other tools find the tokenizer in it. */
    private static void copyTokenizer(Path folder, Path out) {
        try {
            for (String name : TOKENIZER_FILES) {
                if (Files.exists(folder.resolve(name)) && !folder.toRealPath().equals(out.toRealPath())) {
                    try (InputStream in = UserFile.stream(folder.resolve(name))) {
                        Files.copy(in, out.resolve(name), StandardCopyOption.REPLACE_EXISTING);
                    }
                }
            }
        } catch (IOException e) {
            throw new CheckpointException(
                    "cannot copy the tokenizer from " + folder + " to " + out + ": " + FileError.reason(e, out), e);
        }
    }

    /** The model with zero parameters, tied as the files say. */
    LanguageModel build(Device device) {
        LanguageModel model = ModelFolder.build(options.model(), device, _ -> {});
        untied.forEach(model::untie);
        return model;
    }

    Optional<Lora> attach(LanguageModel model) {
        if (options.adapters().isPresent()) {
            return options.adapters().map(folder -> Lora.open(model, folder));
        }
        if (options.loraRank() == 0) {
            return Optional.empty();
        }
        List<String> targets = options.loraTargets().orElseGet(model::adapterTargets);
        return Optional.of(
                Lora.attach(model, new LoraOptions(options.loraRank(), options.loraAlpha(), targets, options.seed())));
    }

    /** Prints what of the configuration of adapters has no effect. */
    static void printNotes(Lora adapters) {
        adapters.notes().forEach(note -> System.err.println("jrun: note: " + note));
    }

    /** The model on a device. */
    private record Definition(PretrainedModel model, ModelSetup setup) implements ModelDefinition {
        @Override
        public String summary() {
            return model.identity;
        }

        @Override
        public int blockCount() {
            return model.description.blockCount();
        }

        @Override
        public TrainableModel build(Consumer<ModelBlock> built) {
            LanguageModel whole = model.build(setup.device());
            Optional<Lora> _ = model.attach(whole);
            whole.blocks().forEach(built);
            return whole;
        }

        @Override
        public Optional<TrainableModel> load(World world) {
            if (setup.vocabulary() > model.description.vocabulary()) {
                throw new InvalidArgumentException("the tokenizer of the data has " + setup.vocabulary()
                        + " tokens, the model has " + model.description.vocabulary()
                        + ". Give the tokenizer of the model.");
            }
            try {
                LanguageModel whole = ModelFolder.build(model.options.model(), setup.device(), _ -> {});
                long bytes = WeightLoader.load(
                        whole, model.options.model(), whole.mapping(), world, model.options.readers());
                Optional<Lora> lora = model.attach(whole);
                if (world.rank() == 0) {
                    System.out.println("rank 0 has read " + bytes + " bytes of weights");
                    lora.ifPresent(PretrainedModel::printNotes);
                }
                return Optional.of(whole);
            } catch (CheckpointException | IllegalArgumentException e) {
                throw new InvalidArgumentException(String.valueOf(e.getMessage()));
            }
        }

        @Override
        public boolean sharesSequences() {
            return model.description.isCausal();
        }

        @Override
        public Map<String, ParallelStyle> tensorParallelPlan() {
            return model.description.tensorParallelPlan();
        }

        @Override
        public double parameterBytes() {
            return model.parameterBytes;
        }
    }
}
