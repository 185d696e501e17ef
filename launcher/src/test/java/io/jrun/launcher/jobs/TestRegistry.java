package io.jrun.launcher.jobs;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;

/** A real registry on the loopback interface, Debian's docker-registry. Its user is {@code me} and the password {@code secret}. */
final class TestRegistry implements AutoCloseable {
    static final String USER = "me";
    static final String PASSWORD = "secret";
    private static final String HASH = "$2b$04$9IO1kXxiuNud5COr2e67I.JF/0NbZvhId04ScdUUsRAhLFMhBXcri";

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
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        Files.writeString(
                config,
                "version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: " + storage
                        + "}}\nhttp: {addr: \"127.0.0.1:" + port + "\"" + http + "}\nauth: {" + auth + "}\n");
        Path log = config.resolveSibling(config.getFileName() + ".log");
        Process process = new ProcessBuilder("docker-registry", "serve", config.toString())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        TestRegistry registry = new TestRegistry(process, port);
        JRun.waitFor(() -> !process.isAlive() || registry.answers(), "docker-registry");
        if (!process.isAlive()) {
            throw new IOException("docker-registry: " + Files.readString(log));
        }
        return registry;
    }

    private boolean answers() {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
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
