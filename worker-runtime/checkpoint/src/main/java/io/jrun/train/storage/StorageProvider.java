package io.jrun.train.storage;

import java.io.IOException;
import java.net.URI;

/** Opens storages of one scheme, such as {@code s3}. {@link java.util.ServiceLoader} finds the providers. */
public interface StorageProvider {
    /** The scheme of the locations, in lower case. */
    String scheme();

    /**
     * Opens a location.
     *
     * @throws IllegalArgumentException if the location is malformed; the message is one line
     * @throws IOException if the location cannot be reached
     */
    Storage open(URI location) throws IOException;
}
