package io.jrun.train.token;

import java.nio.file.Path;

/** Opens the tokenizers of a library. {@code ServiceLoader} finds the implementation. */
public interface TokenizerProvider {
    /**
     * Opens a tokenizer.
     *
     * @param file {@code tokenizer.json}
     * @throws io.jrun.train.data.DataException in one line, if the file cannot be read or is malformed
     */
    Tokenizer open(Path file);
}
