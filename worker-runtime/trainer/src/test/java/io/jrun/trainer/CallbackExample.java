package io.jrun.trainer;

import io.jrun.train.model.LayeredModel;
import io.jrun.train.model.ModelDefinition;
import io.jrun.train.model.ModelSetup;
import java.util.List;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.LinearImpl;

/** Ends a training early. Start: {@code jrun CallbackExample.java --data=text --eval-every=10}. */
public final class CallbackExample implements ModelFactory {
    /** Predicts a byte from the byte before. */
    static final class NextByte extends LayeredModel {
        NextByte(ModelSetup setup) {
            super(setup);
            first("embedding", () -> new EmbeddingImpl(setup.vocabulary(), 32), EmbeddingImpl::forward);
            block(() -> new LinearImpl(32, 32), LinearImpl::forward);
            last("head", () -> new LinearImpl(32, setup.vocabulary()), LinearImpl::forward);
        }
    }

    @Override
    public ModelDefinition of(ModelSetup setup) {
        return new NextByte(setup);
    }

    @Override
    public List<TrainingCallback> callbacks() {
        return List.of(new TrainingCallback() {
            @Override
            public void evaluated(TrainingMoment moment, double heldOutLoss) {
                if (heldOutLoss < 3) {
                    moment.stop("the loss is low enough");
                }
            }
        });
    }

    /** Trains with the options of the trainer. */
    public static void main(String[] args) {
        Trainer.main("CallbackExample.java", args, new CallbackExample());
    }
}
