package io.jrun.examples.finetune;

import io.jrun.train.token.TokenFile;
import io.jrun.train.token.Tokenizers;
import io.jrun.train.weights.WeightReaders;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import io.jrun.trainer.data.DataOptions;
import io.jrun.trainer.device.DeviceOptions;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;

/**
 * The command line of finetune.jar.
 *
 * @param device where the ranks compute
 * @param tokens print the logits of these tokens; empty to train
 * @param context tokens of one text; 0 for the model's, at most 128
 * @param loraRank rank of new adapters; 0 for none
 * @param loraTargets names of the projections; empty for those of the model
 * @param adapters folder of adapters to go on from
 * @param isMerged whether the adapters are added to the weights of the saved model
 * @param maskToken the token that stands for a hidden token; empty for that of the tokenizer
 * @param checkReplicas steps between comparisons of the ranks' copies; 0 for none
 */
record FinetuneOptions(
        DeviceOptions device,
        Path model,
        List<Long> tokens,
        DataOptions data,
        Optional<Path> out,
        WeightReaders readers,
        int steps,
        int batch,
        int context,
        double learningRate,
        int loraRank,
        double loraAlpha,
        Optional<List<String>> loraTargets,
        Optional<Path> adapters,
        boolean isMerged,
        OptionalInt maskToken,
        int seed,
        int checkReplicas) {

    static final String HELP = """
            usage: jrun [--nproc-per-node=N] finetune.jar --model=PATH [options]
            Trains a pre-trained GPT-2, Llama or BERT on, with DistributedDataParallel, or prints logits. A GPT-2 and a
            Llama learn to predict the next token, a BERT learns to predict hidden tokens.

            Model
              --model=PATH           Hugging Face folder, or a file of weights (.safetensors, .pth, .bin) with
                                     config.json beside the file
              --read=WHO             ranks that read the files: every-rank, one-per-node or rank-0  Default:
                                     one-per-node.
              --print-logits=T,T,... print the logits for these tokens as a JSON array, and end: of the last position;
                                     for a BERT one array for each position
              --adapters=DIR         adapters of --lora, or of PEFT, to use and to train on
            Training
              --data=PATH            folder, file or zip of text, .jsonl file, .tokens file of tokenize.jar, or a folder
                                     of such files
              --tokenizer=PATH       tokenizer.json or a folder with it; bytes: each byte is one token  Default: that
                                     of the model.
              --text-field=NAME      field of .jsonl with the text  Default: text.
              --max-bytes=N          bytes of text to read  Default: all.
              --out=DIR              save the model, or the adapters, there
              --steps=N              optimizer steps  Default: 100.
              --batch=N              texts per rank and step  Default: 4.
              --context=N            tokens of one text  Default: the model's, at most 128.
              --lr=X                 learning rate of AdamW  Default: 0.0001.
              --device=NAME          cpu, cuda (each rank uses its GPU), cuda:N, or auto (cuda if each rank can use a GPU,
                                     else cpu)  Default: auto.
              --tf32                 round the operands of float32 matrix products on a GPU to TF32  Default: float32.
              --seed=N               decides the order of the data and the adapters  Default: 1.
              --lora=RANK            freeze the model and train adapters of this rank
              --lora-alpha=X         the adapters' outputs are multiplied by X / RANK  Default: twice the rank.
              --lora-targets=A,B     names of the projections  Default: q_proj,v_proj for a Llama, c_attn for a GPT-2,
                                     query,value for a BERT.
              --merge                add the adapters to the weights, and save the model in place of the adapters
              --mask-token=N         the token that a BERT sees in place of a hidden token  Default: [MASK] of the
                                     tokenizer.
              --check-replicas=N     compare the ranks' copies of the parameters every N steps, and before the model is
                                     saved; 0 for never  Default: 100.
              --help                 print this text
            """;

    private static final List<String> VALUED = List.of(
            "--model",
            "--read",
            "--print-logits",
            "--out",
            "--steps",
            "--batch",
            "--context",
            "--lr",
            "--seed",
            "--lora",
            "--lora-alpha",
            "--lora-targets",
            "--adapters",
            "--mask-token",
            "--check-replicas");

    /** Reads the arguments; empty if they ask for help. */
    static Optional<FinetuneOptions> parse(String[] args) {
        CommandLineArguments given = CommandLineArguments.parse(
                args,
                Stream.of(VALUED, DeviceOptions.VALUED, DataOptions.VALUED)
                        .flatMap(List::stream)
                        .toList(),
                Stream.concat(DeviceOptions.FLAGS.stream(), Stream.of("--merge", "--help"))
                        .toList());
        return given.has("--help") ? Optional.empty() : Optional.of(of(given));
    }

    private static FinetuneOptions of(CommandLineArguments given) {
        Path model = given.text("--model")
                .map(Path::of)
                .orElseThrow(() -> new InvalidArgumentException("--model=PATH is missing. See --help."));
        int rank = given.number("--lora", 0, 1, 1 << 16);
        FinetuneOptions options = new FinetuneOptions(
                DeviceOptions.of(given),
                model,
                given.text("--print-logits").map(FinetuneOptions::tokens).orElse(List.of()),
                data(given, folder(model)),
                given.text("--out").map(Path::of),
                given.word("--read", WeightReaders.ONE_PER_NODE),
                given.number("--steps", 100, 1),
                given.number("--batch", 4, 1, 1 << 20),
                given.number("--context", 0, 2, 1 << 24),
                given.learningRate("--lr", 1e-4),
                rank,
                given.positive("--lora-alpha", 2.0 * Math.max(rank, 1)),
                given.text("--lora-targets").map(names -> List.of(names.split(",", -1))),
                given.text("--adapters").map(Path::of),
                given.has("--merge"),
                given.has("--mask-token") ? OptionalInt.of(given.number("--mask-token", 0, 0)) : OptionalInt.empty(),
                given.number("--seed", 1, 0),
                given.number("--check-replicas", 100, 0));
        options.check();
        return options;
    }

    private void check() {
        boolean isTraining = data.data().isPresent();
        if (tokens.isEmpty() && !isTraining) {
            throw new InvalidArgumentException("give --data=PATH to train, or --print-logits=T,T,... to print logits");
        }
        if (!tokens.isEmpty() && (isTraining || out.isPresent() || loraRank > 0)) {
            throw new InvalidArgumentException("--print-logits trains nothing: leave --data, --out and --lora out");
        }
        if (adapters.isPresent() && loraRank > 0) {
            throw new InvalidArgumentException("--adapters goes on from adapters, --lora makes new ones: give one");
        }
        if (isMerged && (out.isEmpty() || (adapters.isEmpty() && loraRank == 0))) {
            throw new InvalidArgumentException("--merge needs --out=DIR, and --lora=RANK or --adapters=DIR");
        }
        if (loraTargets.isPresent() && loraRank == 0) {
            throw new InvalidArgumentException("--lora-targets needs --lora=RANK");
        }
        out.filter(path -> Files.exists(path) && !Files.isDirectory(path)).ifPresent(path -> {
            throw new InvalidArgumentException("--out=" + path + " is a file. Name a folder for the model.");
        });
    }

    /** The folder with the configuration and the tokenizer of a model. */
    static Path folder(Path model) {
        return Files.isDirectory(model) ? model : model.toAbsolutePath().resolveSibling("");
    }

    /** Token files need no tokenizer. The tokenizer of the model must fit, if there is one. */
    private static DataOptions data(CommandLineArguments given, Path folder) {
        DataOptions data = DataOptions.of(given, Long.MAX_VALUE);
        boolean isText = data.data()
                .filter(path -> path.toString().endsWith(TokenFile.SUFFIX))
                .isEmpty();
        return isText || Files.exists(Tokenizers.fileOf(folder)) ? data.withDefaultTokenizer(folder.toString()) : data;
    }

    private static List<Long> tokens(String text) {
        try {
            return Arrays.stream(text.split(",", -1)).map(Long::valueOf).toList();
        } catch (NumberFormatException _) {
            throw new InvalidArgumentException(
                    "--print-logits is '" + text + "', expected whole numbers with commas between");
        }
    }
}
