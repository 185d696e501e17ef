package io.jrun.agent.image.pull;

import io.jrun.agent.container.ContainerException;
import java.io.IOException;
import java.io.InputStream;

/** Where an image comes from. Thread-safe. */
interface ImageSource extends AutoCloseable {
    /** The image as the user typed it. */
    String image();

    /** The manifest, or index of manifests, that the name of the image stands for, as it is stored. */
    byte[] manifest() throws ContainerException, IOException;

    /** A manifest of an index. The caller verifies its digest. */
    byte[] manifest(Blob descriptor) throws ContainerException, IOException;

    /** A file of the image. The caller verifies its digest. */
    InputStream open(Blob blob) throws ContainerException, IOException;

    @Override
    void close() throws IOException;
}
