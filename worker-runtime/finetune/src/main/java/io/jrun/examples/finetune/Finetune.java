package io.jrun.examples.finetune;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import io.jrun.models.ModelFolder;
import io.jrun.models.lora.Lora;
import io.jrun.models.lora.LoraOptions;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.data.DistributedSampler;
import io.jrun.train.data.Remainder;
import io.jrun.train.data.SamplerOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.ddp.Step;
import io.jrun.train.weights.WeightLoader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.StringJoiner;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/** Main class of finetune.jar. It runs under jrun, or alone as a world of one rank. */
public final class Finetune {
    private static final int EXIT_USAGE = 2;
    private static final int LONGEST_DEFAULT_CONTEXT = 128;
    private static final int BYTES = 256;

    private Finetune() {}

    /** Trains, or prints logits. Unusable arguments, models or data end the program with one line and exit code 2. */
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
            } catch (IllegalArgumentException | CheckpointException e) {
                System.err.println("finetune: " + e.getMessage());
                exitCode = EXIT_USAGE;
            }
        }
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    static void run(FinetuneOptions options, World world) {
        LanguageModel model = ModelFolder.build(options.model());
        long bytesRead = WeightLoader.load(model, options.model(), model.mapping(), world, options.readers());
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
        train(options, model, world);
    }

    /** The logits as one JSON array; for a BERT an array of arrays. */
    static String logits(LanguageModel model, long[] tokens) {
        long largest = Arrays.stream(tokens).max().orElse(0);
        long smallest = Arrays.stream(tokens).min().orElse(0);
        if (smallest < 0 || largest >= model.vocabulary() || tokens.length > model.context()) {
            throw new IllegalArgumentException("--print-logits has " + tokens.length + " tokens from " + smallest
                    + " to " + largest + "; the model takes " + model.context() + " tokens from 0 to "
                    + (model.vocabulary() - 1));
        }
        try (NoGradGuard _ = new NoGradGuard()) {
            Tensor logits_SV =
                    model.forward(Tensor.create(tokens, 1, tokens.length)).select(0, 0);
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
        logits_V.contiguous().data_ptr_float().get(values);
        StringJoiner numbers = new StringJoiner(",", "[", "]");
        for (float value : values) {
            numbers.add(Float.toString(value));
        }
        return numbers.toString();
    }

    private static void train(FinetuneOptions options, LanguageModel model, World world) {
        if (!model.isCausal() || model.vocabulary() < BYTES) {
            throw new IllegalArgumentException("training needs a model that predicts the next token and has at least "
                    + BYTES + " tokens; this model has " + model.vocabulary());
        }
        int context =
                options.context() > 0 ? options.context() : (int) Math.min(model.context(), LONGEST_DEFAULT_CONTEXT);
        ByteText text = new ByteText(options.data().orElseThrow(), context);
        Optional<Lora> lora = options.loraRank() == 0
                ? Optional.empty()
                : Optional.of(Lora.attach(
                        model,
                        new LoraOptions(
                                options.loraRank(), options.loraAlpha(), options.loraTargets(), options.seed())));
        SamplerOptions order = SamplerOptions.TRAINING.withSeed(options.seed()).withRemainder(Remainder.DROP);
        DistributedSampler sampler = DistributedSampler.of(text.windows(), world.group(), order);
        try (var ddp = new DistributedDataParallel<>(model, world.group())) {
            AdamW optimizer = new AdamW(
                    lora.map(Lora::trained).orElseGet(model::parameters), new AdamWOptions(options.learningRate()));
            long[] epoch = {};
            int used = 0;
            for (int step = 1; step <= options.steps(); step++) {
                if (used + options.batch() > epoch.length) {
                    epoch = sampler.nextEpoch().toArray();
                    used = 0;
                }
                int count = Math.min(options.batch(), epoch.length);
                if (count == 0) {
                    throw new IllegalArgumentException("the text makes " + text.windows()
                            + " windows, fewer than there are ranks. Give more text or a smaller --context.");
                }
                long[] windows = Arrays.copyOfRange(epoch, used, used + count);
                used += count;
                try (Step scope = ddp.step()) {
                    optimizer.zero_grad();
                    Tensor loss = model.loss(text.tokens(windows, 0), text.tokens(windows, 1));
                    scope.backward(loss);
                    optimizer.step();
                    if (world.rank() == 0 && (step == 1 || step % 10 == 0 || step == options.steps())) {
                        System.out.printf(
                                Locale.ROOT, "step %d/%d loss %.4f%n", step, options.steps(), loss.item_float());
                    }
                }
            }
        }
        if (world.rank() == 0) {
            options.out().ifPresent(out -> save(model, lora, out));
        }
        world.group().barrier();
    }

    private static void save(LanguageModel model, Optional<Lora> lora, Path out) {
        if (lora.isPresent()) {
            lora.get().save(out);
        } else {
            ModelFolder.save(model, out);
        }
        System.out.println("saved " + out);
    }
}
