package io.jrun.trainer;

import io.jrun.train.data.DataLoader;
import io.jrun.train.ddp.EarlyTerminationException;
import io.jrun.trainer.data.TrainingData;
import java.util.Locale;

/** Trains once on all windows, with {@code --uneven}. The ranks may have unequal numbers of batches. */
final class UnevenTraining<S> {
    private final TrainingArguments options;
    private final TrainingData<S> data;
    private final TrainingSteps trainer;
    private final DataLoader<S> loader;
    private final Progress progress;
    private long step;

    UnevenTraining(
            TrainingArguments options,
            TrainingData<S> data,
            TrainingSteps trainer,
            DataLoader<S> loader,
            Progress progress) {
        this.options = options;
        this.data = data;
        this.trainer = trainer;
        this.loader = loader;
        this.progress = progress;
    }

    /** The largest number of batches of a rank. */
    static int batches(long windows, int ranks, int batch) {
        return Math.toIntExact(Math.ceilDiv(Math.ceilDiv(windows, (long) ranks), batch));
    }

    /** Makes all steps. Collective. */
    void run(ExchangeOptions.UnevenEnd end) {
        try {
            trainer.model().join(end.joinOptions(), this::stepOfOthers, this::ownSteps);
        } catch (EarlyTerminationException e) {
            progress.print("the training ends after step " + step + ": " + e.getMessage());
        }
        if (step % options.logEvery() != 0) {
            progress.report(step, trainer.lastLoss());
        }
        progress.print(String.format(Locale.ROOT, "mean loss of all batches %.4f", trainer.report(step)));
    }

    private void ownSteps() {
        loader.epoch().forEach(batch -> {
            trainer.step(step + 1, () -> StepBatch.of(data.batch(batch, step + 1)));
            step++;
            if (step % options.logEvery() == 0) {
                progress.report(step, trainer.lastLoss()); // The loss of this rank: other ranks may have no batch left.
            }
        });
    }

    private void stepOfOthers() {
        step++;
        trainer.joinStep(step);
    }
}
