package io.jrun.trainer.data;

import io.jrun.comm.World;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.FileType;
import io.jrun.train.data.DataException;
import io.jrun.train.token.ByteTokenizer;
import io.jrun.train.token.TextSource;
import io.jrun.train.token.TokenDataset;
import io.jrun.train.token.TokenFile;
import io.jrun.train.token.Tokenizer;
import io.jrun.train.token.Tokenizers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Stream;

/**
 * The tokens of --data: a part to train on, and a part to hold out at the end. Token files are mapped. Text is encoded
 * once on each node, into a temporary file that the ranks of the node map.
 */
public final class TokenCorpus implements AutoCloseable {
    /** Enough for three digits of the held-out loss; more would only make the evaluation slower. */
    private static final long MAX_HELD_OUT_TOKENS = 128 << 10;

    /** About a second. */
    private static final long MAX_CHECKED_TOKENS = 256L << 20;

    private final Path data;
    private final List<TokenFile> files;
    private final Optional<Tokenizer> tokenizer;
    private final OptionalDouble heldOutShare;

    private TokenCorpus(Path data, List<TokenFile> files, Optional<Tokenizer> tokenizer, OptionalDouble heldOutShare) {
        this.data = data;
        this.files = files;
        this.tokenizer = tokenizer;
        this.heldOutShare = heldOutShare;
    }

    /**
     * Opens the data. All ranks of the world call this method with the same arguments.
     *
     * @param data a token file, a folder of token files, or what {@link TextSource} reads
     * @throws DataException on all ranks of a node, in one line, if the data are unusable
     */
    public static TokenCorpus load(DataOptions options, Path data, World world) {
        List<Path> tokenFiles = tokenFiles(data);
        boolean isDecodable = tokenFiles.isEmpty() || options.tokenizer().isPresent();
        Optional<Tokenizer> tokenizer = isDecodable ? Optional.of(tokenizer(options)) : Optional.empty();
        List<TokenFile> files = tokenFiles.isEmpty()
                ? List.of(TemporaryTokenFile.encode(
                        new TextSource(data, options.maxBytes(), options.textField()), tokenizer.orElseThrow(), world))
                : tokenFiles.stream().map(TokenFile::open).toList();
        TokenCorpus corpus = new TokenCorpus(data, files, tokenizer, options.heldOut());
        corpus.checkTokenizer();
        if (!tokenFiles.isEmpty()) {
            corpus.checkTokens();
        }
        return corpus;
    }

    /**
     * A token that the training does not read would fail the evaluation after the last step. The tokens of a large
     * corpus take minutes to read: then only those of the evaluation are checked.
     */
    private void checkTokens() {
        long from = size() <= MAX_CHECKED_TOKENS ? 0 : trainingTokens();
        long first = 0;
        for (TokenFile file : files) {
            long begin = Math.clamp(from - first, 0, file.size());
            file.requireInVocabulary(begin, file.size() - begin);
            first += file.size();
        }
    }

    /** The tokenizer that the options name. */
    public static Tokenizer tokenizer(DataOptions options) {
        return options.isOfBytes()
                ? new ByteTokenizer()
                : Tokenizers.open(Path.of(options.tokenizer().orElseThrow()));
    }

    private static List<Path> tokenFiles(Path data) {
        if (data.toString().endsWith(TokenFile.SUFFIX)) {
            return List.of(data);
        }
        if (typeOf(data) != FileType.FOLDER) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(data)) {
            return files.filter(file -> file.toString().endsWith(TokenFile.SUFFIX))
                    .sorted()
                    .toList();
        } catch (IOException | UncheckedIOException e) {
            throw new DataException("cannot list " + data + ": " + FileError.reason(e, data), e);
        }
    }

    private static FileType typeOf(Path data) {
        try {
            return FileType.of(data);
        } catch (IOException e) {
            throw new DataException("the data " + data + " cannot be read: " + FileError.reason(e, data), e);
        }
    }

    private void checkTokenizer() {
        for (TokenFile file : files) {
            if (file.vocabulary() > Integer.MAX_VALUE) {
                throw new DataException(file.path() + " has a vocabulary of " + file.vocabulary()
                        + " tokens, more than a model can have: " + Integer.MAX_VALUE);
            }
            if (tokenizer.isPresent() && !tokenizer.get().id().equals(file.tokenizerId())) {
                throw new DataException(file.path() + " was made with another tokenizer than the one of --tokenizer."
                        + " Give the tokenizer of the file, or write the file again with tokenize.jar.");
            }
            if (file.vocabulary() != files.getFirst().vocabulary()
                    || !file.tokenizerId().equals(files.getFirst().tokenizerId())) {
                throw new DataException(file.path() + " and " + files.getFirst().path()
                        + " were made with different tokenizers. Write them again with one tokenizer.");
            }
        }
    }

    /** Each token is below this number. */
    public int vocabulary() {
        return (int) files.getFirst().vocabulary();
    }

    /** Empty for token files without --tokenizer. */
    public Optional<Tokenizer> tokenizer() {
        return tokenizer;
    }

    /** Whether each token is one byte. */
    public boolean isOfBytes() {
        return files.getFirst().tokenizerId().equals(new ByteTokenizer().id());
    }

    /** The tokens in words, equal for equal tokens: their number and their checksum. */
    public String identity() {
        int checksum = files.stream().mapToInt(TokenFile::checksum).reduce(0, (all, next) -> 31 * all + next);
        return size() + " tokens with the checksum " + Integer.toHexString(checksum);
    }

    /** The number of tokens. */
    public long size() {
        return files.stream().mapToLong(TokenFile::size).sum();
    }

    /** Windows of all tokens. */
    public TokenDataset all(int context) {
        return windows(0, size(), context);
    }

    /** Windows to train on. */
    public TokenDataset training(int context) {
        return windows(0, trainingTokens(), context);
    }

    /** Windows of the tokens that are held out. */
    public TokenDataset heldOut(int context) {
        return windows(trainingTokens(), size(), context);
    }

    /** The tokens to train on: all but the share of --held-out; else the last tenth, at most 131,072 tokens. */
    public long trainingTokens() {
        return heldOutShare.isPresent()
                ? size() - (long) (size() * heldOutShare.getAsDouble())
                : size() - Math.min(MAX_HELD_OUT_TOKENS, size() / 10);
    }

    private TokenDataset windows(long begin, long end, int context) {
        List<TokenDataset.TokenRange> ranges = new ArrayList<>();
        long first = 0;
        for (TokenFile file : files) {
            long from = Math.clamp(begin - first, 0, file.size());
            long to = Math.clamp(end - first, 0, file.size());
            ranges.add(new TokenDataset.TokenRange(file, from, to - from));
            first += file.size();
        }
        return TokenDataset.of(ranges, context);
    }

    @Override
    public void close() {
        files.forEach(TokenFile::close);
        tokenizer.ifPresent(Tokenizer::close);
    }

    /** The path of --data. */
    @Override
    public String toString() {
        return data.toString();
    }
}
