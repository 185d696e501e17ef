package io.jrun.examples.own;

import io.jrun.train.data.Batch;
import io.jrun.train.layer.TextEmbedding;
import io.jrun.train.layer.TextHead;
import io.jrun.train.layer.TransformerBlock;
import io.jrun.train.model.LayeredModel;
import io.jrun.train.model.ModelSetup;
import io.jrun.trainer.ModelFactory;
import io.jrun.trainer.Trainer;
import io.jrun.trainer.data.TrainingData;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Tensor;

/** A transformer that says which of two sources has written a text. The trainer gives it all options. */
public final class TextClassifier extends LayeredModel {
    private static final int LENGTH = 16;

    private TextClassifier(ModelSetup setup) {
        super(setup);
        transformer(4); // heads
        first("embedding", () -> new TextEmbedding(20, LENGTH, 64, setup.device()), TextEmbedding::forward);
        block(() -> new TransformerBlock(64, 4, 256, setup.device()), TransformerBlock::forward);
        block(() -> new TransformerBlock(64, 4, 256, setup.device()), TransformerBlock::forward);
        last("head", () -> new TextHead(64, setup.vocabulary(), setup.device()), (head, x) -> head.forward(x.mean(1)));
    }

    @Override
    public boolean sharesSequences() {
        return false; // the mean over all positions needs whole texts
    }

    /** The model and its samples: 16 of 20 tokens, then the class. */
    public static ModelFactory program() {
        List<long[]> texts =
                LongStream.range(0, 2000).mapToObj(TextClassifier::text).toList();
        return ModelFactory.of(
                TextClassifier::new,
                TrainingData.of(texts.subList(200, 2000), texts.subList(0, 200), 2, TextClassifier::batch));
    }

    private static long[] text(long number) {
        SplittableRandom random = new SplittableRandom(number);
        long[] text =
                random.longs(LENGTH + 1, number % 2 * 5, 15 + number % 2 * 5).toArray();
        text[LENGTH] = number % 2;
        return text;
    }

    private static Batch batch(List<long[]> texts) {
        Tensor rows = Tensor.create(texts.stream().flatMapToLong(LongStream::of).toArray(), texts.size(), LENGTH + 1);
        return new Batch(rows.narrow(1, 0, LENGTH), rows.select(1, LENGTH));
    }

    public static void main(String[] args) {
        Trainer.main("TextClassifier.java", args, program());
    }
}
