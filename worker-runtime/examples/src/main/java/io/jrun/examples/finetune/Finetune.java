package io.jrun.examples.finetune;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import io.jrun.models.lora.Lora;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.data.DataException;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.token.Tokenizer;
import io.jrun.train.weights.WeightLoader;
import io.jrun.trainer.TextGenerator;
import io.jrun.trainer.Trainer;
import io.jrun.trainer.TrainingArguments;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import io.jrun.trainer.arguments.MemoryNeed;
import io.jrun.trainer.arguments.RankAgreement;
import io.jrun.trainer.data.ChatData;
import io.jrun.trainer.data.DataOptions;
import io.jrun.trainer.data.TokenCorpus;
import io.jrun.trainer.device.DeviceOptions;
import io.jrun.trainer.device.FileReadNotes;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * Main class of finetune.jar: trains a pre-trained model on, prints logits, generates text, or merges adapters. The program runs under
 * jrun, or alone as a world of one rank.
 */
public final class Finetune {
    private static final int EXIT_FAILURE = 1;
    private static final int EXIT_USAGE = 2;
    private static final String LOGITS = "--print-logits";
    private static final String GENERATE = "--generate";
    private static final String MAX_TOKENS = "--max-new-tokens";
    private static final int DEFAULT_TOKENS = 128;
    private static final String USAGE = """
        usage: jrun [--nproc-per-node=N] finetune.jar --model=PATH --data=PATH [options]
        Trains a pre-trained GPT-2, Llama or BERT on. A GPT-2 and a Llama learn to predict the next token, a BERT
        learns to predict hidden tokens. --out=DIR names the folder of the trained model or of its adapters.

        Examples
          jrun --nproc-per-node=2 finetune.jar --model=gpt2 --data=book.txt --out=trained
          jrun --nproc-per-node=4 finetune.jar --model=llama --data=chats.jsonl --lora=8 --tp=2 --shard=2 --out=adapters
          jrun --nproc-per-node=2 finetune.jar --model=llama --data=chats.jsonl --chat --eval-every=50 --out=tuned
          jrun finetune.jar --model=llama --adapters=adapters --merge --out=merged
          jrun --no-prefix finetune.jar --model=tuned --chat --generate="What is a rank?" --max-new-tokens=50

        """;

    private Finetune() {}

    /**
     * Trains, prints logits, generates or merges. Unusable arguments, models or data end the program with one line and exit code 2.
     * A model that cannot be saved ends the program with one line and exit code 1.
     */
    public static void main(String[] args) {
        if (has(args, "--help")) {
            train(args);
        } else if (has(args, LOGITS)) {
            alone(args, Finetune::printLogits);
        } else if (has(args, GENERATE)) {
            alone(args, Finetune::generate);
        } else if (has(args, "--merge") && has(args, "--adapters") && !has(args, "--data")) {
            alone(args, Finetune::merge);
        } else {
            train(args);
        }
    }

    /** Trains, or prints the help. */
    private static void train(String[] args) {
        Trainer.main("finetune.jar", USAGE, args, new FinetuneModelOptions());
    }

    private static boolean has(String[] args, String option) {
        return Stream.of(args).anyMatch(word -> word.equals(option) || word.startsWith(option + "="));
    }

    /** Runs a work that trains nothing. */
    private static void alone(String[] args, BiConsumer<String[], World> work) {
        int exitCode = 0;
        try (World world = Distributed.init()) {
            try {
                work.accept(args, world);
            } catch (InvalidArgumentException | DataException e) {
                RankAgreement.printOnce(world, "finetune: " + e.getMessage());
                exitCode = EXIT_USAGE;
            } catch (CheckpointException e) {
                RankAgreement.printOnce(world, "finetune: " + e.getMessage());
                exitCode = EXIT_FAILURE;
            }
        }
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    /** Reads the options of a work that trains nothing. An option that only a training uses is refused. */
    private static CommandLineArguments parse(String[] args, String work, List<String> valued, List<String> flags) {
        List<String> unused = new ArrayList<>(TrainingArguments.optionNames(new FinetuneModelOptions()));
        unused.removeAll(valued);
        unused.removeAll(flags);
        for (String word : args) {
            String name = word.replaceFirst("(?s)=.*", "");
            FinetuneOptions.refuse(unused.contains(name), work + " trains nothing: leave " + name + " out");
        }
        return CommandLineArguments.parse(args, valued, flags);
    }

    /** Adds adapters to the weights of their model. */
    static void merge(String[] args, World world) {
        CommandLineArguments given = parse(
                args,
                "--merge without --data",
                List.of("--model", "--adapters", "--read", "--out"),
                List.of("--merge"));
        PretrainedModel model = PretrainedModel.describe(FinetuneOptions.of(given), _ -> {});
        Path out = Path.of(given.text("--out").orElseThrow());
        if (world.rank() == 0) {
            model.merge(out);
        }
        world.group().barrier();
    }

    /** Prints the logits of tokens on rank 0. */
    static void printLogits(String[] args, World world) {
        CommandLineArguments given = parse(
                args,
                LOGITS,
                Stream.of(List.of("--model", "--adapters", "--read", LOGITS), DeviceOptions.VALUED)
                        .flatMap(List::stream)
                        .toList(),
                DeviceOptions.FLAGS);
        long[] tokens = tokens(given.text(LOGITS).orElse(""));
        LanguageModel model = load(FinetuneOptions.of(given), given, world);
        if (world.rank() == 0) {
            System.out.println(logits(model, tokens));
        }
    }

    /** Loads the model with its adapters. Collective. */
    private static LanguageModel load(FinetuneOptions options, CommandLineArguments given, World world) {
        DeviceOptions on = DeviceOptions.of(given).choose(world, note -> RankAgreement.printOnce(world, note));
        PretrainedModel pretrained = PretrainedModel.describe(
                options, bytes -> MemoryNeed.check("the parameters of " + options.model(), bytes, world));
        LanguageModel model = pretrained.build(on.device());
        try {
            long _ = WeightLoader.load(model, options.model(), model.mapping(), world, options.readers());
            FileReadNotes.print(world);
            Optional<Lora> lora = pretrained.attach(model);
            if (world.rank() == 0) {
                lora.ifPresent(PretrainedModel::printNotes);
            }
        } catch (CheckpointException e) {
            throw new InvalidArgumentException(String.valueOf(e.getMessage()));
        }
        return model;
    }

    /** Prints the text that follows a prompt on rank 0. */
    static void generate(String[] args, World world) {
        CommandLineArguments given = parse(
                args,
                GENERATE,
                Stream.of(
                                List.of(
                                        "--model",
                                        "--adapters",
                                        "--read",
                                        "--seed",
                                        GENERATE,
                                        MAX_TOKENS,
                                        "--temperature"),
                                List.of("--tokenizer", "--chat-template"),
                                DeviceOptions.VALUED)
                        .flatMap(List::stream)
                        .toList(),
                Stream.concat(Stream.of("--chat"), DeviceOptions.FLAGS.stream()).toList());
        FinetuneOptions options = FinetuneOptions.of(given);
        TextGenerator.Choice choice = new TextGenerator.Choice(
                given.number(MAX_TOKENS, DEFAULT_TOKENS, 1, 1 << 20),
                given.zeroOrMore("--temperature", 0),
                options.seed());
        DataOptions data = DataOptions.of(given, Long.MAX_VALUE)
                .withModelFolder(options.folder())
                .withDefaultTokenizer(options.folder().toString());
        String prompt = given.text(GENERATE).orElse("");
        LanguageModel model = load(options, given, world);
        FinetuneOptions.refuse(
                !model.isCausal(), GENERATE + " needs a GPT-2 or a Llama: a BERT predicts hidden tokens");
        if (world.rank() > 0) {
            return;
        }
        try (Tokenizer tokenizer = TokenCorpus.tokenizer(data)) {
            String text = data.chat().isPresent() ? question(data, prompt) : prompt;
            System.out.println(TextGenerator.continuation(
                    model, Math.toIntExact(Math.min(model.context(), Integer.MAX_VALUE)), tokenizer, text, choice));
        } catch (IllegalArgumentException e) {
            throw new InvalidArgumentException(String.valueOf(e.getMessage()));
        }
    }

    /** A question in the chat template, with the begin of an answer. */
    private static String question(DataOptions data, String text) {
        return ChatData.template(data, LocalDateTime.now(ZoneId.systemDefault()))
                .render(List.of(Map.of("role", "user", "content", text)), Map.of(), true);
    }

    private static long[] tokens(String text) {
        try {
            return Arrays.stream(text.split(",", -1)).mapToLong(Long::parseLong).toArray();
        } catch (NumberFormatException _) {
            throw new InvalidArgumentException(
                    "--print-logits is '" + text + "', expected whole numbers with commas between");
        }
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
}
