package io.jrun.s3;

import io.jrun.train.storage.CommitConflictException;
import io.jrun.train.storage.StorageException;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.services.s3.model.S3Exception;

/** Makes one line of the errors of the client: what failed, why, and what to do. */
final class S3Call {
    private static final int FORBIDDEN = 403;
    private static final int NOT_FOUND = 404;
    private static final int CONFLICT = 409;
    private static final int PRECONDITION_FAILED = 412;

    private S3Call() {}

    interface Request<T> {
        T send();
    }

    /**
     * Sends a request.
     *
     * @param place the object in errors, such as {@code s3://bucket/name}
     * @throws NoSuchFileException if the object does not exist
     * @throws CommitConflictException if the object has changed since the condition of the request was taken
     */
    static <T> T send(String what, String place, Request<T> request) throws IOException {
        try {
            return request.send();
        } catch (S3Exception e) {
            throw failure("cannot " + what + " " + place + ": ", place, e);
        } catch (SdkException e) {
            String reason = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
            String hint = e instanceof SdkClientException && reason.contains("credentials")
                    ? "no credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,"
                            + " or a profile in ~/.aws."
                    : reason;
            throw new StorageException("cannot " + what + " " + place + ": " + hint, e);
        }
    }

    private static IOException failure(String begin, String place, S3Exception e) {
        String code = e.awsErrorDetails() == null
                ? ""
                : String.valueOf(e.awsErrorDetails().errorCode());
        if (e.statusCode() == NOT_FOUND && !code.equals("NoSuchBucket")) {
            NoSuchFileException missing = new NoSuchFileException(place);
            missing.initCause(e);
            return missing;
        }
        if (e.statusCode() == PRECONDITION_FAILED || e.statusCode() == CONFLICT) {
            return new CommitConflictException(
                    "another job has written " + place + " at the same time. Give each job a prefix of its own.");
        }
        String detail = e.awsErrorDetails() == null
                ? String.valueOf(e.getMessage())
                : code + ": " + e.awsErrorDetails().errorMessage();
        String advice = switch (code) {
            case "NoSuchBucket" -> ". Create the bucket, or correct its name.";
            case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken" ->
                ". Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.";
            default -> e.statusCode() == FORBIDDEN ? ". Check the credentials and the bucket's policy." : "";
        };
        return new StorageException(begin + "HTTP " + e.statusCode() + ", " + detail.replace('\n', ' ') + advice, e);
    }
}
