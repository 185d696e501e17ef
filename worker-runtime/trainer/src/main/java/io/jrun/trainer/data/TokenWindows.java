package io.jrun.trainer.data;

import io.jrun.comm.World;
import io.jrun.train.data.Batch;
import io.jrun.train.data.DataException;
import io.jrun.train.data.Dataset;
import io.jrun.train.token.TokenBatch;
import io.jrun.train.token.Tokenizer;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Windows of text or of token files. A sample has S + 1 tokens. */
public final class TokenWindows implements TrainingData<long[]> {
    /** Less text has no window that can be held out. */
    private static final long LEAST_WINDOWS = 20;

    private final TokenCorpus corpus;
    private final @Nullable TokenCorpus evaluation;
    private final int context;
    private final WindowBatches batches;

    private TokenWindows(TokenCorpus corpus, @Nullable TokenCorpus evaluation, int context, WindowBatches batches) {
        this.corpus = corpus;
        this.evaluation = evaluation;
        this.context = context;
        this.batches = batches;
    }

    /** Makes batches of windows. */
    @FunctionalInterface
    public interface WindowBatches {
        /**
         * A batch, see {@link TrainingData#batch}.
         *
         * @param windows texts of S + 1 tokens
         * @param corpus has the windows
         */
        Batch of(List<long[]> windows, long step, TokenCorpus corpus);
    }

    /** Opens the data. The targets are the next tokens. Collective over the world. */
    public static TokenWindows open(DataOptions options, int context, World world) {
        return open(options, context, world, (windows, _, _) -> TokenBatch.of(windows));
    }

    /**
     * Opens the data for other batches. Collective over the world.
     *
     * @param context tokens of a window
     * @throws DataException on all ranks of a node, in one line, if the data are unusable
     * @throws InvalidArgumentException if the text is too short
     */
    public static TokenWindows open(DataOptions options, int context, World world, WindowBatches batches) {
        TokenCorpus corpus = TokenCorpus.load(options, options.path(), world);
        TokenCorpus evaluation = options.evaluation()
                .map(path -> TokenCorpus.load(options, path, world))
                .orElse(null);
        if (corpus.size() < LEAST_WINDOWS * (context + 1)) {
            throw new InvalidArgumentException("--data " + corpus + " has " + corpus.size()
                    + " tokens, expected at least " + LEAST_WINDOWS * (context + 1) + " for --context " + context);
        }
        if (evaluation != null && evaluation.all(context).size() == 0) {
            throw new InvalidArgumentException("--eval-data " + evaluation + " has " + evaluation.size()
                    + " tokens, expected at least " + (context + 1) + " for --context " + context);
        }
        if (evaluation != null && evaluation.vocabulary() != corpus.vocabulary()) {
            throw new InvalidArgumentException("--eval-data " + evaluation + " has a vocabulary of "
                    + evaluation.vocabulary() + " tokens, --data " + corpus + " one of " + corpus.vocabulary()
                    + ". Give data of one tokenizer.");
        }
        return new TokenWindows(corpus, evaluation, context, batches);
    }

    @Override
    public Dataset<long[]> training() {
        return evaluation == null ? corpus.training(context) : corpus.all(context);
    }

    @Override
    public Dataset<long[]> heldOut() {
        return evaluation == null ? corpus.heldOut(context) : evaluation.all(context);
    }

    @Override
    public Batch batch(List<long[]> samples, long step) {
        return batches.of(samples, step, corpus);
    }

    @Override
    public int vocabulary() {
        return corpus.vocabulary();
    }

    @Override
    public int length() {
        return context;
    }

    @Override
    public String unit() {
        return corpus.isOfBytes() ? "byte" : "token";
    }

    @Override
    public String identity() {
        return corpus.identity();
    }

    @Override
    public String summary() {
        long tokens = evaluation == null ? corpus.trainingTokens() : corpus.size();
        return String.format(
                Locale.ROOT, "%.1f %s", tokens / 1e6, corpus.isOfBytes() ? "MB of text" : "million tokens");
    }

    @Override
    public Optional<Tokenizer> tokenizer() {
        return corpus.tokenizer();
    }

    @Override
    public Optional<String> baseline() {
        return corpus.vocabulary() > BigramModel.LARGEST_VOCABULARY
                ? Optional.empty()
                : Optional.of(String.format(
                        Locale.ROOT,
                        "bigram baseline %.4f",
                        new BigramModel(training(), corpus.vocabulary()).loss(heldOut())));
    }

    @Override
    public void close() {
        corpus.close();
        if (evaluation != null) {
            evaluation.close();
        }
    }

    /** The path of --data. */
    @Override
    public String toString() {
        return corpus.toString();
    }
}
