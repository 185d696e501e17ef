package io.jrun.s3;

import io.jrun.train.storage.CommitConflictException;
import io.jrun.train.storage.ObjectReader;
import io.jrun.train.storage.ObjectWriter;
import io.jrun.train.storage.Storage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.S3Object;

/**
 * Objects below a prefix of a bucket. A commit is a conditional PUT: {@code If-None-Match} for a new object, {@code
 * If-Match} with the ETag for one that is replaced. If two writers commit at the same moment, one of them fails.
 */
final class S3Storage implements Storage {
    private final S3Client client;
    private final String bucket;
    private final String prefix;

    /** @param prefix empty, or ends with {@code /} */
    S3Storage(S3Client client, String bucket, String prefix) {
        this.client = client;
        this.bucket = bucket;
        this.prefix = prefix;
    }

    private String place(String name) {
        return "s3://" + bucket + "/" + prefix + name;
    }

    @Override
    public List<String> list(String folder) throws IOException {
        return S3Call.send(
                "list",
                place(folder),
                () ->
                        client
                                .listObjectsV2Paginator(
                                        request -> request.bucket(bucket).prefix(prefix + folder))
                                .contents()
                                .stream()
                                .map(S3Object::key)
                                .map(key -> key.substring(prefix.length()))
                                .sorted()
                                .toList());
    }

    @Override
    public ObjectWriter create(String name) {
        return new S3Writer(client, bucket, prefix + name);
    }

    @Override
    public ObjectReader open(String name) throws IOException {
        long size = S3Call.send(
                        "read",
                        place(name),
                        () -> client.headObject(
                                request -> request.bucket(bucket).key(prefix + name)))
                .contentLength();
        return new S3Reader(client, bucket, prefix + name, size);
    }

    @Override
    public Optional<String> version(String name) throws IOException {
        try {
            return Optional.of(S3Call.send(
                            "read",
                            place(name),
                            () -> client.headObject(
                                    request -> request.bucket(bucket).key(prefix + name)))
                    .eTag());
        } catch (NoSuchFileException _) {
            return Optional.empty();
        }
    }

    @Override
    public void commit(String name, byte[] content, Optional<String> replaced) throws IOException {
        PutObjectRequest.Builder request =
                PutObjectRequest.builder().bucket(bucket).key(prefix + name);
        replaced.ifPresentOrElse(request::ifMatch, () -> request.ifNoneMatch("*"));
        try {
            S3Call.send("commit", place(name), () -> client.putObject(request.build(), RequestBody.fromBytes(content)));
        } catch (CommitConflictException e) {
            // The answer to the first try may have been lost. The second try then meets the object of the first.
            if (!hasContent(name, content)) {
                throw e;
            }
        }
    }

    private boolean hasContent(String name, byte[] content) throws IOException {
        try (ObjectReader reader = open(name)) {
            if (reader.size() != content.length) {
                return false;
            }
            ByteBuffer found = ByteBuffer.allocate(content.length);
            reader.read(0, found);
            return Arrays.equals(found.array(), content);
        } catch (NoSuchFileException _) {
            return false;
        }
    }

    @Override
    public void delete(String name) throws IOException {
        S3Call.send(
                "delete",
                place(name),
                () -> client.deleteObject(request -> request.bucket(bucket).key(prefix + name)));
    }

    @Override
    public String toString() {
        return place("").replaceAll("/$", "");
    }

    @Override
    public void close() {
        client.close();
    }
}
