package io.jrun.s3;

import io.jrun.train.storage.ObjectWriter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.CompletedPart;

/**
 * Writes one object. An object of at most one part is one PUT, a larger one a multipart upload. The parts grow, because
 * S3 allows 10000 parts: objects up to 5 TB, S3's own limit, need fewer. An upload that is not finished is aborted.
 */
final class S3Writer implements ObjectWriter {
    private static final int FIRST_PART_BYTES = 16 << 20;
    private static final int LARGEST_PART_BYTES = 1 << 30;
    private static final int PARTS_OF_A_SIZE = 1000;

    private final S3Client client;
    private final String bucket;
    private final String key;
    private final List<CompletedPart> parts = new ArrayList<>();
    private ByteBuffer part = ByteBuffer.allocate(FIRST_PART_BYTES);
    private @Nullable String upload;
    private boolean isFinished;

    S3Writer(S3Client client, String bucket, String key) {
        this.client = client;
        this.bucket = bucket;
        this.key = key;
    }

    private String place() {
        return "s3://" + bucket + "/" + key;
    }

    @Override
    public void write(ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            if (!part.hasRemaining()) {
                uploadPart();
            }
            int count = Math.min(part.remaining(), bytes.remaining());
            part.put(bytes.slice(bytes.position(), count));
            bytes.position(bytes.position() + count);
        }
    }

    private void uploadPart() throws IOException {
        String id = upload;
        if (id == null) {
            id = S3Call.send(
                            "write",
                            place(),
                            () -> client.createMultipartUpload(
                                    request -> request.bucket(bucket).key(key)))
                    .uploadId();
            upload = id;
        }
        String uploadId = id;
        int number = parts.size() + 1;
        RequestBody body = RequestBody.fromByteBuffer(part.flip());
        String tag = S3Call.send(
                        "write",
                        place(),
                        () -> client.uploadPart(
                                request -> request.bucket(bucket)
                                        .key(key)
                                        .uploadId(uploadId)
                                        .partNumber(number),
                                body))
                .eTag();
        parts.add(CompletedPart.builder().partNumber(number).eTag(tag).build());
        boolean grows = number % PARTS_OF_A_SIZE == 0 && part.capacity() < LARGEST_PART_BYTES;
        part = grows ? ByteBuffer.allocate(part.capacity() * 2) : part.clear();
    }

    @Override
    public void finish() throws IOException {
        if (upload == null) {
            RequestBody body = RequestBody.fromByteBuffer(part.flip());
            S3Call.send(
                    "write",
                    place(),
                    () -> client.putObject(request -> request.bucket(bucket).key(key), body));
        } else {
            String id = upload;
            uploadPart();
            S3Call.send(
                    "write",
                    place(),
                    () -> client.completeMultipartUpload(request -> request.bucket(bucket)
                            .key(key)
                            .uploadId(id)
                            .multipartUpload(completed -> completed.parts(parts))));
        }
        isFinished = true;
    }

    @Override
    public void close() throws IOException {
        String id = upload;
        if (id != null && !isFinished) {
            S3Call.send(
                    "abort",
                    place(),
                    () -> client.abortMultipartUpload(
                            request -> request.bucket(bucket).key(key).uploadId(id)));
        }
    }
}
