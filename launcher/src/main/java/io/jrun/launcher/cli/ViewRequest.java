package io.jrun.launcher.cli;

import io.jrun.launcher.job.UsageException;
import java.util.Optional;

/**
 * The command line of {@code dashboard}, {@code top}, {@code trace} or {@code report}.
 *
 * @param job a run id, its unambiguous beginning, or a log folder; empty if the command needs none
 * @param output the file to write, {@code -} for stdout; empty for the default
 * @param page where the dashboard is served
 * @param opensBrowser whether the dashboard opens the user's browser
 */
public record ViewRequest(
        SubCommand command, Optional<String> job, Optional<String> output, PageAddress page, boolean opensBrowser) {
    private static final int MOST_PORT = 65535;

    /** The host of the page without {@code --host}: no other machine can reach it. */
    private static final String THIS_MACHINE = "127.0.0.1";

    /**
     * Where the dashboard is served.
     *
     * @param host a name or numeric address
     * @param port 0 for any free port
     * @param tls the files of the certificate and its key; empty without TLS
     */
    public record PageAddress(String host, int port, Optional<TlsFiles> tls) {
        private static PageAddress of(ParsedCommand line) {
            Optional<String> certificate = line.value(CommandOption.TLS_CERTIFICATE);
            Optional<String> key = line.value(CommandOption.TLS_KEY);
            if (certificate.isPresent() != key.isPresent()) {
                throw new UsageException("--tls-certificate and --tls-key are needed together.");
            }
            return new PageAddress(
                    line.value(CommandOption.HOST).orElse(THIS_MACHINE),
                    line.value(CommandOption.PORT)
                            .map(port -> OptionValues.count(port, CommandOption.PORT.longName(), 0, MOST_PORT))
                            .orElse(0),
                    certificate.flatMap(file -> key.map(keyFile -> new TlsFiles(file, keyFile))));
        }
    }

    /** The PEM files of a certificate and its key, as the user named them. */
    public record TlsFiles(String certificate, String key) {}

    /**
     * Reads the command line of {@code command}.
     *
     * @throws UsageException with one line for the user, if the command line is impossible
     */
    public static ViewRequest of(SubCommand command, ParsedCommand line) {
        return new ViewRequest(
                command,
                Optional.of(line.word("")).filter(job -> !job.isEmpty()),
                line.value(CommandOption.RESULT_FILE),
                PageAddress.of(line),
                !line.has(CommandOption.NO_OPEN));
    }
}
