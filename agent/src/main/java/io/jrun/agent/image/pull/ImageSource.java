package io.jrun.agent.image.pull;

import io.jrun.agent.container.ContainerException;
import java.io.IOException;
import java.io.InputStream;

/** The source of an image: a registry, a folder or an archive. Thread-safe. */
interface ImageSource extends AutoCloseable {
    /** The user's text of the image. */
    String image();

    /** The stored bytes of the manifest, or index of manifests, of the image's name. */
    byte[] manifest() throws ContainerException, IOException;

    /** A manifest of an index. The caller verifies its digest. */
    byte[] manifest(Blob descriptor) throws ContainerException, IOException;

    /** A file of the image. The caller verifies its digest. */
    InputStream open(Blob blob) throws ContainerException, IOException;

    @Override
    void close() throws IOException;
}
