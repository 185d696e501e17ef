package io.jrun.tokenizers;

import io.jrun.comm.file.FileError;
import io.jrun.train.data.DataException;
import io.jrun.train.token.Tokenizer;
import io.jrun.train.token.TokenizerProvider;
import java.io.IOException;
import java.nio.file.Path;

/** Opens {@code tokenizer.json} of Hugging Face. */
public final class HuggingFaceProvider implements TokenizerProvider {
    /** For {@code ServiceLoader}. */
    public HuggingFaceProvider() {}

    @Override
    public Tokenizer open(Path file) {
        try {
            TokenizerDefinition definition = TokenizerDefinition.read(file);
            return HuggingFaceTokenizer.of(definition, HuggingFaceTokenizer.Limits.DEFAULT);
        } catch (IOException e) {
            throw new DataException("cannot read " + file + ": " + FileError.reason(e, file), e);
        } catch (IllegalArgumentException e) {
            throw new DataException(String.valueOf(e.getMessage()), e);
        }
    }
}
