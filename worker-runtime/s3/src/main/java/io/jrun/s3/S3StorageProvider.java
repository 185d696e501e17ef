package io.jrun.s3;

import io.jrun.train.storage.Storage;
import io.jrun.train.storage.StorageException;
import io.jrun.train.storage.StorageProvider;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.Optional;
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.core.checksums.RequestChecksumCalculation;
import software.amazon.awssdk.core.checksums.ResponseChecksumValidation;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.regions.providers.DefaultAwsRegionProviderChain;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3ClientBuilder;
import software.amazon.awssdk.services.s3.S3Configuration;

/**
 * Opens {@code s3://bucket/prefix}. jrun finds credentials, region and endpoint where AWS tools find them: the
 * environment ({@code AWS_ACCESS_KEY_ID}, {@code AWS_REGION}, {@code AWS_ENDPOINT_URL}), {@code ~/.aws}, or the
 * machine's role. A store that is not Amazon's is addressed by path. Requests have no checksums that the protocol does
 * not require, because many stores refuse the newer ones: jrun's checkpoints have checksums of their own.
 */
public final class S3StorageProvider implements StorageProvider {
    /** Five tries with growing pauses pass over the minute in which a store throttles. */
    private static final int MAX_ATTEMPTS = 5;

    /** A body has 16 MiB at most, so it is sent at once, without waiting for the server's "100 Continue". */
    private static final S3Configuration WITHOUT_EXPECT =
            S3Configuration.builder().expectContinueEnabled(false).build();

    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);
    private static final Duration SOCKET_TIMEOUT = Duration.ofSeconds(60);

    @Override
    public String scheme() {
        return "s3";
    }

    @Override
    public Storage open(URI location) throws IOException {
        String bucket = location.getAuthority();
        if (bucket == null || location.getQuery() != null || location.getFragment() != null) {
            throw new IllegalArgumentException("'" + location + "' is not a location: expected s3://BUCKET/PREFIX");
        }
        String path = location.getPath() == null ? "" : location.getPath().replaceAll("^/+|/+$", "");
        S3ClientBuilder client = S3Client.builder()
                .httpClientBuilder(UrlConnectionHttpClient.builder()
                        .connectionTimeout(CONNECT_TIMEOUT)
                        .socketTimeout(SOCKET_TIMEOUT))
                .serviceConfiguration(WITHOUT_EXPECT)
                .overrideConfiguration(
                        override -> override.retryStrategy(AwsRetryStrategy.standardRetryStrategy().toBuilder()
                                .maxAttempts(MAX_ATTEMPTS)
                                .build()));
        Optional<String> endpoint = setting("aws.endpointUrlS3", "AWS_ENDPOINT_URL_S3")
                .or(() -> setting("aws.endpointUrl", "AWS_ENDPOINT_URL"));
        if (setting("aws.requestChecksumCalculation", "AWS_REQUEST_CHECKSUM_CALCULATION")
                .isEmpty()) {
            client.requestChecksumCalculation(RequestChecksumCalculation.WHEN_REQUIRED);
        }
        if (setting("aws.responseChecksumValidation", "AWS_RESPONSE_CHECKSUM_VALIDATION")
                .isEmpty()) {
            client.responseChecksumValidation(ResponseChecksumValidation.WHEN_REQUIRED);
        }
        try {
            endpoint.map(S3StorageProvider::uri)
                    .ifPresent(url -> client.endpointOverride(url).forcePathStyle(true));
            client.region(region(endpoint.isPresent()));
            return new S3Storage(client.build(), bucket, path.isEmpty() ? "" : path + "/");
        } catch (SdkClientException e) {
            throw new StorageException("cannot use " + location + ": " + e.getMessage(), e);
        }
    }

    private static Optional<String> setting(String property, String variable) {
        return Optional.ofNullable(System.getProperty(property))
                .or(() -> Optional.ofNullable(System.getenv(variable)))
                .filter(value -> !value.isBlank());
    }

    private static URI uri(String endpoint) {
        try {
            return URI.create(endpoint);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("AWS_ENDPOINT_URL '" + endpoint + "' is not a URL", e);
        }
    }

    /** Stores other than Amazon's have no regions. */
    private static Region region(boolean isOther) {
        try {
            return DefaultAwsRegionProviderChain.builder().build().getRegion();
        } catch (SdkClientException e) {
            if (isOther) {
                return Region.US_EAST_1;
            }
            throw e;
        }
    }
}
