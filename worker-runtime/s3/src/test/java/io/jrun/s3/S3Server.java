package io.jrun.s3;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import org.gaul.s3proxy.S3Proxy;
import org.gaul.s3proxy.auth.AuthenticationType;
import org.gaul.s3proxy.nio2blob.FilesystemNio2BlobStore;

/** An S3 server on the loopback interface: s3proxy over a folder. The server checks signatures. */
final class S3Server implements AutoCloseable {
    static final String USER = "test-user";
    static final String PASSWORD = "test-secret";

    private final S3Proxy server;

    S3Server(Path folder, String bucket) throws Exception {
        Files.createDirectories(folder.resolve(bucket));
        server = S3Proxy.builder()
                .blobStore(new FilesystemNio2BlobStore(folder.toString()))
                .endpoint(URI.create("http://127.0.0.1:0"))
                .awsAuthentication(AuthenticationType.AWS_V4, USER, PASSWORD)
                .ignoreUnknownHeaders(true)
                .build();
        server.start();
    }

    /** Serves a bucket over a folder until stdin ends. Arguments: the folder and the bucket. */
    public static void main(String[] args) throws Exception {
        try (S3Server server = new S3Server(Path.of(args[0]), args[1])) {
            System.out.println("port " + server.port());
            int _ = System.in.read();
        }
        System.exit(0);
    }

    int port() {
        return server.getPort();
    }

    @Override
    public void close() throws IOException {
        try {
            server.stop();
        } catch (Exception e) {
            throw new IOException("cannot stop the S3 server", e);
        }
    }
}
