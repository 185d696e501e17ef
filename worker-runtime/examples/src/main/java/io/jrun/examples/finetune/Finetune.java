package io.jrun.examples.finetune;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.OutputFile;
import io.jrun.comm.file.UserFile;
import io.jrun.models.ModelFolder;
import io.jrun.models.lora.Lora;
import io.jrun.models.lora.LoraOptions;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.data.DataException;
import io.jrun.train.data.DataLoader;
import io.jrun.train.data.DataLoaderOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.ddp.Step;
import io.jrun.train.device.DeviceCopies;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ReplicaCheck;
import io.jrun.train.mesh.ReplicaException;
import io.jrun.train.precision.FiniteParameters;
import io.jrun.train.precision.NonFiniteException;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.token.TokenBatch;
import io.jrun.train.token.Tokenizer;
import io.jrun.train.weights.WeightLoader;
import io.jrun.trainer.arguments.InvalidArgumentException;
import io.jrun.trainer.arguments.MemoryNeed;
import io.jrun.trainer.arguments.RankAgreement;
import io.jrun.trainer.data.TokenCorpus;
import io.jrun.trainer.device.DeviceOptions;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.StringJoiner;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/** Main class of finetune.jar. The program runs under jrun, or alone as a world of one rank. */
public final class Finetune {
    private static final int EXIT_FAILURE = 1;
    private static final int EXIT_USAGE = 2;
    private static final int LONGEST_DEFAULT_CONTEXT = 128;
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

    private Finetune() {}

    /**
     * Trains, or prints logits. Unusable arguments, models or data end the program with one line and exit code 2. A
     * model that cannot be saved, or has values that are not finite, ends the program with one line and exit code 1.
     */
    public static void main(String[] args) {
        int exitCode = 0;
        try (World world = Distributed.init()) {
            try {
                Optional<FinetuneOptions> options = FinetuneOptions.parse(args);
                if (options.isPresent()) {
                    run(options.get(), world);
                } else if (world.rank() == 0) {
                    System.out.print(FinetuneOptions.HELP);
                }
            } catch (IllegalArgumentException | DataException e) {
                RankAgreement.printOnce(world, "finetune: " + e.getMessage());
                exitCode = EXIT_USAGE;
            } catch (NonFiniteException | ReplicaException e) {
                RankAgreement.printOnce(world, "finetune: " + e.getMessage());
                exitCode = EXIT_FAILURE;
            } catch (CheckpointException e) {
                System.err.println("finetune: rank " + world.rank() + ": " + e.getMessage());
                exitCode = EXIT_FAILURE;
            }
        }
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    static void run(FinetuneOptions options, World world) {
        DeviceOptions on = options.device().choose(world, note -> RankAgreement.printOnce(world, note));
        LanguageModel model;
        Optional<Lora> lora;
        long bytesRead;
        try {
            model = ModelFolder.build(
                    options.model(),
                    on.device(),
                    bytes -> MemoryNeed.check("the parameters of " + options.model(), bytes, world));
            bytesRead = WeightLoader.load(model, options.model(), model.mapping(), world, options.readers());
            lora = lora(options, model);
        } catch (CheckpointException e) {
            throw new InvalidArgumentException(String.valueOf(e.getMessage()));
        }
        if (world.rank() == 0) {
            lora.ifPresent(adapters -> adapters.notes().forEach(note -> System.err.println("jrun: note: " + note)));
        }
        if (!options.tokens().isEmpty()) {
            if (world.rank() == 0) {
                System.out.println(logits(
                        model,
                        options.tokens().stream().mapToLong(Long::longValue).toArray()));
            }
            return;
        }
        if (world.rank() == 0) {
            System.out.printf(Locale.ROOT, "rank 0 has read %d bytes of weights%n", bytesRead);
        }
        train(options, model, lora, world);
    }

    private static Optional<Lora> lora(FinetuneOptions options, LanguageModel model) {
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

    /** The logits as one JSON array; for a BERT an array of arrays. */
    static String logits(LanguageModel model, long[] tokens) {
        long largest = Arrays.stream(tokens).max().orElse(0);
        long smallest = Arrays.stream(tokens).min().orElse(0);
        if (smallest < 0 || largest >= model.vocabulary() || tokens.length > model.context()) {
            throw new InvalidArgumentException("--print-logits has " + tokens.length + " tokens from " + smallest
                    + " to " + largest + "; the model takes " + model.context() + " tokens from 0 to "
                    + (model.vocabulary() - 1));
        }
        try (NoGradGuard _ = new NoGradGuard()) {
            Tensor logits_SV = model.forward(DeviceTensors.of(model.device(), tokens, 1, tokens.length))
                    .select(0, 0);
            if (model.isCausal()) {
                return array(logits_SV.select(0, -1));
            }
            StringJoiner rows = new StringJoiner(",", "[", "]");
            for (int position = 0; position < tokens.length; position++) {
                rows.add(array(logits_SV.select(0, position)));
            }
            return rows.toString();
        }
    }

    private static String array(Tensor logits_V) {
        float[] values = new float[Math.toIntExact(logits_V.numel())];
        logits_V.cpu().contiguous().data_ptr_float().get(values);
        StringJoiner numbers = new StringJoiner(",", "[", "]");
        for (float value : values) {
            numbers.add(Float.toString(value));
        }
        return numbers.toString();
    }

    /** The loss of a batch of this rank. */
    @FunctionalInterface
    private interface BatchLoss {
        Tensor of(List<long[]> windows, int step);
    }

    private static void train(FinetuneOptions options, LanguageModel model, Optional<Lora> lora, World world) {
        RankAgreement.check(world.group(), () -> {
            if (world.rank() == 0) {
                options.out().ifPresent(Finetune::requireWritable);
            }
        });
        int context =
                options.context() > 0 ? options.context() : (int) Math.min(model.context(), LONGEST_DEFAULT_CONTEXT);
        DataLoaderOptions loading = DataLoaderOptions.training(options.batch(), options.seed());
        try (TokenCorpus corpus =
                TokenCorpus.load(options.data(), options.data().data().orElseThrow(), world)) {
            if (corpus.vocabulary() > model.vocabulary()) {
                throw new InvalidArgumentException("the tokenizer of " + corpus + " has " + corpus.vocabulary()
                        + " tokens, the model has " + model.vocabulary() + ". Give the tokenizer of the model.");
            }
            try (DataLoader<long[]> loader = DataLoader.of(corpus.all(context), world.group(), loading);
                    DeviceCopies copies = DeviceCopies.to(model.device())) {
                BatchLoss loss = model.isCausal()
                        ? nextTokens(model, copies)
                        : hiddenTokens(options, model, corpus, world, copies);
                train(options, model, lora, loader, loss, world);
            }
        }
    }

    /** Before the first step, because the model is saved after the last one. */
    private static void requireWritable(Path out) {
        try {
            OutputFile.requireWritableFolder(out);
        } catch (IOException e) {
            throw new InvalidArgumentException("--out=" + out + " cannot be written: " + FileError.reason(e, out));
        }
    }

    private static BatchLoss nextTokens(LanguageModel model, DeviceCopies copies) {
        return (windows, _) -> {
            TokenBatch batch = TokenBatch.of(windows).copied(copies);
            return model.loss(batch.inputs(), batch.targets());
        };
    }

    private static BatchLoss hiddenTokens(
            FinetuneOptions options, LanguageModel model, TokenCorpus corpus, World world, DeviceCopies copies) {
        OptionalInt ofTokenizer = corpus.tokenizer().map(Tokenizer::maskToken).orElse(OptionalInt.empty());
        OptionalInt token = options.maskToken().isPresent() ? options.maskToken() : ofTokenizer;
        if (token.isEmpty() || token.getAsInt() >= model.vocabulary()) {
            throw new InvalidArgumentException("a BERT learns to predict hidden tokens, but "
                    + (token.isEmpty()
                            ? "the tokenizer has no [MASK]"
                            : "token " + token.getAsInt() + " is none of its " + model.vocabulary() + " tokens")
                    + ". Give --mask-token=N.");
        }
        return (windows, step) -> {
            SplittableRandom random = new SplittableRandom(
                    new SplittableRandom(((long) options.seed() << 32) + step).nextLong() + world.rank());
            return MaskedTexts.of(windows, token.getAsInt(), corpus.vocabulary(), random)
                    .copied(copies)
                    .loss(model);
        };
    }

    private static void train(
            FinetuneOptions options,
            LanguageModel model,
            Optional<Lora> lora,
            DataLoader<long[]> loader,
            BatchLoss batchLoss,
            World world) {
        try (var ddp = new DistributedDataParallel<>(model, world.group())) {
            AdamW optimizer = new AdamW(
                    lora.map(Lora::trained).orElseGet(model::parameters), new AdamWOptions(options.learningRate()));
            ReplicaCheck replicas = ReplicaCheck.of(world.group(), Parameters.of(model));
            for (int step = 1; step <= options.steps(); step++) {
                List<long[]> windows = loader.next();
                try (Step scope = ddp.step()) {
                    optimizer.zero_grad();
                    Tensor loss = batchLoss.of(windows, step);
                    scope.backward(loss);
                    optimizer.step();
                    int every = options.checkReplicas();
                    if (every > 0 && (step % every == 0 || step == options.steps())) {
                        replicas.check(step);
                    }
                    if (world.rank() == 0 && (step == 1 || step % 10 == 0 || step == options.steps())) {
                        System.out.printf(
                                Locale.ROOT, "step %d/%d loss %.4f%n", step, options.steps(), loss.item_float());
                    }
                }
            }
        }
        FiniteParameters.require(Parameters.of(model), world.group(), options.steps());
        if (world.rank() == 0) {
            options.out().ifPresent(out -> save(options, model, lora, out));
        }
        world.group().barrier();
    }

    private static void save(FinetuneOptions options, LanguageModel model, Optional<Lora> lora, Path out) {
        if (lora.isPresent() && !options.isMerged()) {
            lora.get().save(out);
        } else {
            lora.ifPresent(Lora::merge);
            ModelFolder.save(model, out);
            copyTokenizer(options.model(), out);
        }
        System.out.println("saved " + out);
    }

    /** The new folder is complete: other tools find the tokenizer in it. */
    private static void copyTokenizer(Path model, Path out) {
        Path folder = FinetuneOptions.folder(model);
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
}
