package io.jrun.launcher.jobs;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Signature;
import java.time.Instant;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The server that gives the tokens for a registry, as registries of the world have one. Source: Docker's token
 * specification.
 */
final class TokenService implements AutoCloseable {
    private static final Pattern SCOPE = Pattern.compile("scope=repository:([^:&]+):([^&]+)");
    private static final char[] STORE_PASSWORD = "password".toCharArray();

    private final HttpServer server;
    private final PrivateKey key;
    private final byte[] encoded;
    private final Path certificate;

    TokenService(Path folder) throws Exception {
        Path store = folder.resolve("keys.p12");
        TestCommand.run(
                Path.of(System.getProperty("java.home"), "bin/keytool").toString(),
                "-genkeypair",
                "-alias",
                "k",
                "-keyalg",
                "RSA",
                "-dname",
                "CN=test",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                new String(STORE_PASSWORD));
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            keys.load(in, STORE_PASSWORD);
        }
        key = (PrivateKey) keys.getKey("k", STORE_PASSWORD);
        encoded = keys.getCertificate("k").getEncoded();
        certificate = Files.writeString(
                folder.resolve("token.pem"),
                "-----BEGIN CERTIFICATE-----\n"
                        + Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.UTF_8))
                                .encodeToString(encoded)
                        + "\n-----END CERTIFICATE-----\n");
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/token", this::answer);
        server.start();
    }

    String address() {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/token";
    }

    Path certificate() {
        return certificate;
    }

    private void answer(HttpExchange exchange) throws IOException {
        String login = Base64.getEncoder()
                .encodeToString((TestRegistry.USER + ":" + TestRegistry.PASSWORD).getBytes(StandardCharsets.UTF_8));
        boolean known = ("Basic " + login).equals(exchange.getRequestHeaders().getFirst("Authorization"));
        byte[] body = (known ? "{\"token\":\"" + token(exchange.getRequestURI().getRawQuery()) + "\"}" : "{}")
                .getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(known ? 200 : 401, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private String token(String query) throws IOException {
        Matcher scope = SCOPE.matcher(URLDecoder.decode(query, StandardCharsets.UTF_8));
        String access = scope.find()
                ? "{\"type\":\"repository\",\"name\":\"" + scope.group(1) + "\",\"actions\":[\"pull\"]}"
                : "";
        long now = Instant.now().getEpochSecond();
        String header = "{\"typ\":\"JWT\",\"alg\":\"RS256\",\"x5c\":[\""
                + Base64.getEncoder().encodeToString(encoded) + "\"]}";
        String claims = "{\"iss\":\"test\",\"sub\":\"me\",\"aud\":\"test\",\"jti\":\"1\",\"exp\":" + (now + 600)
                + ",\"nbf\":" + (now - 60) + ",\"iat\":" + now + ",\"access\":[" + access + "]}";
        String signed =
                url(header.getBytes(StandardCharsets.UTF_8)) + "." + url(claims.getBytes(StandardCharsets.UTF_8));
        try {
            Signature signature = Signature.getInstance("SHA256withRSA");
            signature.initSign(key);
            signature.update(signed.getBytes(StandardCharsets.UTF_8));
            return signed + "." + url(signature.sign());
        } catch (java.security.GeneralSecurityException e) {
            throw new IOException(e);
        }
    }

    private static String url(byte[] bytes) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
