package io.jrun.s3;

import io.jrun.train.storage.ObjectReader;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import software.amazon.awssdk.core.ResponseBytes;
import software.amazon.awssdk.core.sync.ResponseTransformer;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;

/** Reads ranges of one object, each with a request of its own. */
record S3Reader(S3Client client, String bucket, String key, long size) implements ObjectReader {
    /** One request costs tens of milliseconds, so a request asks for many bytes. */
    private static final int PIECE_BYTES = 16 << 20;

    @Override
    public void read(long position, ByteBuffer destination) throws IOException {
        if (!destination.hasRemaining()) {
            return;
        }
        long last = position + destination.remaining() - 1;
        if (last >= size) {
            throw new EOFException("s3://" + bucket + "/" + key + " ends at byte " + size);
        }
        GetObjectRequest request = GetObjectRequest.builder()
                .bucket(bucket)
                .key(key)
                .range("bytes=" + position + "-" + last)
                .build();
        ResponseBytes<GetObjectResponse> bytes = S3Call.send(
                "read", "s3://" + bucket + "/" + key, () -> client.getObject(request, ResponseTransformer.toBytes()));
        destination.put(bytes.asByteArrayUnsafe());
    }

    @Override
    public int pieceBytes() {
        return PIECE_BYTES;
    }

    @Override
    public void close() {}
}
