package io.jrun.examples.finetune;

import io.jrun.train.weights.WeightReaders;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The options of finetune.jar about its model.
 *
 * @param model folder or file of weights
 * @param readers the ranks that read the files
 * @param loraRank rank of new adapters; 0 for none
 * @param loraTargets names of the projections, or the word all-linear; empty for those of the model
 * @param adapters folder of adapters to go on from
 * @param isMerged whether the adapters are added to the weights of the saved model
 * @param maskToken the token that stands for a hidden token; empty for that of the tokenizer
 * @param seed decides the values of new adapters, and the hidden tokens
 */
record FinetuneOptions(
        Path model,
        WeightReaders readers,
        int loraRank,
        double loraAlpha,
        Optional<List<String>> loraTargets,
        Optional<Path> adapters,
        boolean isMerged,
        OptionalInt maskToken,
        int seed) {
    static final List<String> VALUED =
            List.of("--model", "--read", "--lora", "--lora-alpha", "--lora-targets", "--adapters", "--mask-token");
    static final List<String> FLAGS = List.of("--merge");

    static FinetuneOptions of(CommandLineArguments given) {
        int rank = given.number("--lora", 0, 1, 1 << 16);
        Optional<Path> adapters = given.text("--adapters").map(Path::of);
        refuse(adapters.isPresent() && rank > 0, "--adapters goes on from adapters, --lora makes new ones: give one");
        refuse(
                given.has("--merge") && (given.text("--out").isEmpty() || (adapters.isEmpty() && rank == 0)),
                "--merge needs --out=DIR, and --lora=RANK or --adapters=DIR");
        for (String name : List.of("--lora-targets", "--lora-alpha")) {
            refuse(given.has(name) && rank == 0, name + " needs --lora=RANK");
        }
        given.text("--out")
                .map(Path::of)
                .ifPresent(out -> refuse(
                        Files.exists(out) && !Files.isDirectory(out),
                        "--out=" + out + " is a file. Name a folder for the model."));
        return new FinetuneOptions(
                given.text("--model")
                        .map(Path::of)
                        .orElseThrow(() -> new InvalidArgumentException("--model=PATH is missing. See --help.")),
                given.word("--read", WeightReaders.ONE_PER_NODE),
                rank,
                given.positive("--lora-alpha", 2.0 * Math.max(rank, 1)),
                given.text("--lora-targets").map(names -> List.of(names.split(",", -1))),
                adapters,
                given.has("--merge"),
                given.has("--mask-token") ? OptionalInt.of(given.number("--mask-token", 0, 0)) : OptionalInt.empty(),
                given.number("--seed", 1, 0));
    }

    static void refuse(boolean isUnsupported, String message) {
        if (isUnsupported) {
            throw new InvalidArgumentException(message);
        }
    }

    /** The folder with the configuration and the tokenizer of the model. */
    Path folder() {
        return Files.isDirectory(model) ? model : model.toAbsolutePath().resolveSibling("");
    }
}
