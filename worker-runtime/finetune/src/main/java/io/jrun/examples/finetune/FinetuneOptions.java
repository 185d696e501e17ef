package io.jrun.examples.finetune;

import io.jrun.train.weights.WeightReaders;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The command line of finetune.jar.
 *
 * @param tokens print the logits of these tokens; empty to train
 * @param context tokens of one text; 0 for the model's, at most 128
 * @param loraRank rank of the adapters; 0 to train all parameters
 */
record FinetuneOptions(
        Path model,
        List<Long> tokens,
        Optional<Path> data,
        Optional<Path> out,
        WeightReaders readers,
        int steps,
        int batch,
        int context,
        double learningRate,
        int loraRank,
        double loraAlpha,
        List<String> loraTargets,
        int seed) {

    static final String HELP = """
            usage: jrun [--nproc-per-node=N] finetune.jar --model=PATH [options]
            Trains a pre-trained GPT-2 or Llama on, with DistributedDataParallel, or prints logits (also of a BERT).

            Model
              --model=PATH           Hugging Face folder, or a file of weights (.safetensors, .pth, .bin) with config.json beside it
              --read=WHO             which ranks read the files: every-rank, one-per-node or rank-0  Default: one-per-node.
              --print-logits=T,T,... print the logits for these tokens as a JSON array, and end: of the last position;
                                     for a BERT one array for each position
            Training
              --data=FILE            text; each byte is one token
              --out=DIR              save the model, or the adapters, there
              --steps=N              optimizer steps  Default: 100.
              --batch=N              texts per rank and step  Default: 4.
              --context=N            tokens of one text  Default: the model's, at most 128.
              --lr=X                 learning rate of AdamW  Default: 0.0001.
              --seed=N               decides the order of the data and the adapters  Default: 1.
              --lora=RANK            freeze the model and train adapters of this rank
              --lora-alpha=X         the adapters' outputs are multiplied by X / RANK  Default: twice the rank.
              --lora-targets=A,B     names of the projections  Default: q_proj,v_proj,c_attn.
              --help                 print this text
            """;

    private static final List<String> NAMES = List.of(
            "--model",
            "--read",
            "--print-logits",
            "--data",
            "--out",
            "--steps",
            "--batch",
            "--context",
            "--lr",
            "--seed",
            "--lora",
            "--lora-alpha",
            "--lora-targets");

    /** Reads the arguments; empty if they ask for help. Throws {@link IllegalArgumentException} with one line. */
    static Optional<FinetuneOptions> parse(String[] args) {
        Map<String, String> given = new HashMap<>();
        for (int i = 0; i < args.length; i++) {
            if (args[i].equals("--help")) {
                return Optional.empty();
            }
            int equals = args[i].indexOf('=');
            String name = equals < 0 ? args[i] : args[i].substring(0, equals);
            if (!NAMES.contains(name)) {
                throw new IllegalArgumentException("unknown option '" + args[i] + "'. See --help.");
            }
            if (equals < 0 && i + 1 == args.length) {
                throw new IllegalArgumentException(name + " needs a value");
            }
            given.put(name, equals < 0 ? args[++i] : args[i].substring(equals + 1));
        }
        return Optional.of(of(given));
    }

    private static FinetuneOptions of(Map<String, String> given) {
        String model = given.get("--model");
        if (model == null) {
            throw new IllegalArgumentException("--model=PATH is missing. See --help.");
        }
        int rank = whole(given, "--lora", 0, 1);
        FinetuneOptions options = new FinetuneOptions(
                Path.of(model),
                tokens(given.get("--print-logits")),
                Optional.ofNullable(given.get("--data")).map(Path::of),
                Optional.ofNullable(given.get("--out")).map(Path::of),
                readers(given.getOrDefault("--read", "one-per-node")),
                whole(given, "--steps", 100, 1),
                whole(given, "--batch", 4, 1),
                whole(given, "--context", 0, 2),
                number(given, "--lr", 1e-4),
                rank,
                number(given, "--lora-alpha", 2.0 * Math.max(rank, 1)),
                words(given.getOrDefault("--lora-targets", "q_proj,v_proj,c_attn")),
                whole(given, "--seed", 1, 0));
        if (options.tokens().isEmpty() && options.data().isEmpty()) {
            throw new IllegalArgumentException("give --data=FILE to train, or --print-logits=T,T,... to print logits");
        }
        return options;
    }

    private static List<Long> tokens(@Nullable String text) {
        try {
            return text == null
                    ? List.of()
                    : words(text).stream().map(Long::valueOf).toList();
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(
                    "--print-logits is '" + text + "', expected whole numbers with commas between", e);
        }
    }

    private static WeightReaders readers(String text) {
        return switch (text.toLowerCase(Locale.ROOT)) {
            case "every-rank" -> WeightReaders.EVERY_RANK;
            case "one-per-node" -> WeightReaders.ONE_PER_NODE;
            case "rank-0" -> WeightReaders.RANK_0;
            default ->
                throw new IllegalArgumentException(
                        "--read is '" + text + "', expected every-rank, one-per-node or rank-0");
        };
    }

    private static int whole(Map<String, String> given, String name, int fallback, int min) {
        String text = given.get(name);
        try {
            int number = text == null ? fallback : Integer.parseInt(text);
            if (text == null || number >= min) {
                return number;
            }
        } catch (NumberFormatException _) {
            // Refused below.
        }
        throw new IllegalArgumentException(name + " is '" + text + "', expected a whole number of at least " + min);
    }

    private static double number(Map<String, String> given, String name, double fallback) {
        String text = given.get(name);
        try {
            double number = text == null ? fallback : Double.parseDouble(text);
            if (number > 0 && Double.isFinite(number)) {
                return number;
            }
        } catch (NumberFormatException _) {
            // Refused below.
        }
        throw new IllegalArgumentException(name + " is '" + text + "', expected a number above 0");
    }

    private static List<String> words(String text) {
        return Arrays.asList(text.split(",", -1));
    }
}
