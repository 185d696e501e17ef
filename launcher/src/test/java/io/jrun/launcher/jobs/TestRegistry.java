package io.jrun.launcher.jobs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A real registry on the loopback interface, Debian's docker-registry. Its user is {@code me} and the password {@code
 * secret}.
 */
final class TestRegistry implements AutoCloseable {
    static final String USER = "me";
    static final String PASSWORD = "secret";
    private static final String HASH = "$2b$04$9IO1kXxiuNud5COr2e67I.JF/0NbZvhId04ScdUUsRAhLFMhBXcri";

    private static final Pattern LISTENING = Pattern.compile("listening on 127\\.0\\.0\\.1:(\\d+)\\D");

    private final Process process;
    private final int port;

    private TestRegistry(Process process, int port) {
        this.process = process;
        this.port = port;
    }

    /** A registry that wants a user and a password. */
    static TestRegistry withPassword(Path folder, Path storage) throws Exception {
        Path passwords = Files.writeString(folder.resolve("htpasswd"), USER + ":" + HASH + "\n");
        return start(folder.resolve("basic.yml"), storage, "htpasswd: {realm: test, path: " + passwords + "}");
    }

    /** A registry that wants a token of another server. */
    static TestRegistry withTokens(Path folder, Path storage, TokenService tokens) throws Exception {
        return start(
                folder.resolve("token.yml"),
                storage,
                "token: {realm: \"" + tokens.address() + "\", service: test, issuer: test, rootcertbundle: "
                        + tokens.certificate() + "}");
    }

    /** As {@link #withPassword}, with TLS: {@code folder} has key.pem and certificate.pem. */
    static TestRegistry withTls(Path folder, Path storage) throws Exception {
        Path passwords = Files.writeString(folder.resolve("htpasswd"), USER + ":" + HASH + "\n");
        return start(
                folder.resolve("tls.yml"),
                storage,
                "htpasswd: {realm: test, path: " + passwords + "}",
                ", tls: {certificate: " + folder.resolve("certificate.pem") + ", key: " + folder.resolve("key.pem")
                        + "}");
    }

    private static TestRegistry start(Path config, Path storage, String auth) throws Exception {
        return start(config, storage, auth, "");
    }

    private static TestRegistry start(Path config, Path storage, String auth, String http) throws Exception {
        Files.writeString(
                config,
                "version: 0.1\nlog: {level: info}\nstorage: {filesystem: {rootdirectory: " + storage
                        + "}}\nhttp: {addr: \"127.0.0.1:0\"" + http + "}\nauth: {" + auth + "}\n");
        Path log = config.resolveSibling(config.getFileName() + ".log");
        Process process = new ProcessBuilder("docker-registry", "serve", config.toString())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        JRun.waitFor(() -> !process.isAlive() || port(log) > 0, "docker-registry");
        if (port(log) == 0) {
            throw new IOException("docker-registry: " + Files.readString(log));
        }
        return new TestRegistry(process, port(log));
    }

    /** 0 before the registry listens. */
    private static int port(Path log) {
        try {
            Matcher line = LISTENING.matcher(Files.readString(log));
            return line.find() ? Integer.parseInt(line.group(1)) : 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    int port() {
        return port;
    }

    /** HOST:PORT. */
    String host() {
        return "localhost:" + port;
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }
}
