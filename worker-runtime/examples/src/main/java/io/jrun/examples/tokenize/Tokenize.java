package io.jrun.examples.tokenize;

import io.jrun.train.data.DataException;
import io.jrun.train.token.TextSource;
import io.jrun.train.token.TokenIngestion;
import io.jrun.train.token.Tokenizer;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import io.jrun.trainer.data.DataOptions;
import io.jrun.trainer.data.TokenCorpus;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** Main class of tokenize.jar. It runs under jrun with one worker, or alone. */
public final class Tokenize {
    static final String HELP = """
            usage: jrun tokenize.jar --data=PATH --out=FILE.tokens [options]
            Encodes text into a token file for train.jar and finetune.jar.

              --data=PATH            folder, file or zip of text, or .jsonl file
              --out=FILE             the token file; appears when all text is encoded
              --tokenizer=PATH       tokenizer.json or a folder with it; bytes: each byte is one token  Default: bytes.
              --text-field=NAME      field of .jsonl with the text  Default: text.
              --max-bytes=N          bytes of text to read  Default: all.
              --help                 print this text
            """;

    private static final int EXIT_USAGE = 2;
    private static final long REPORT_NANOS = 2_000_000_000;

    private Tokenize() {}

    /** Encodes. Unusable arguments or data end the program with one line on stderr and exit code 2. */
    public static void main(String[] args) {
        try {
            run(args, System.out);
        } catch (InvalidArgumentException | DataException e) {
            System.err.println("tokenize: " + e.getMessage());
            System.exit(EXIT_USAGE);
        }
    }

    static void run(String[] args, PrintStream out) {
        List<String> valued =
                Stream.concat(DataOptions.VALUED.stream(), Stream.of("--out")).toList();
        CommandLineArguments given = CommandLineArguments.parse(args, valued, List.of("--help"));
        if (given.has("--help")) {
            out.print(HELP);
            return;
        }
        DataOptions options = DataOptions.of(given, Long.MAX_VALUE);
        Path data =
                options.data().orElseThrow(() -> new InvalidArgumentException("--data=PATH is missing. See --help."));
        Path target = given.text("--out")
                .map(Path::of)
                .orElseThrow(() -> new InvalidArgumentException("--out=FILE is missing. See --help."));
        long begin = System.nanoTime();
        long[] reported = {begin};
        try (Tokenizer tokenizer = TokenCorpus.tokenizer(options)) {
            TextSource source = new TextSource(data, options.maxBytes(), options.textField());
            TokenIngestion.IngestionProgress all = TokenIngestion.write(source, tokenizer, target, progress -> {
                if (System.nanoTime() - reported[0] > REPORT_NANOS) {
                    reported[0] = System.nanoTime();
                    out.println(line(progress, begin) + ", at " + progress.location());
                }
            });
            out.println(line(all, begin));
            out.println("wrote " + target);
        }
    }

    private static String line(TokenIngestion.IngestionProgress progress, long beginNanos) {
        double seconds = (System.nanoTime() - beginNanos) / 1e9;
        return String.format(
                Locale.ROOT,
                "%.1f MB of text, %d tokens, %.1f MB/s",
                progress.textBytes() / 1e6,
                progress.tokens(),
                progress.textBytes() / 1e6 / seconds);
    }
}
