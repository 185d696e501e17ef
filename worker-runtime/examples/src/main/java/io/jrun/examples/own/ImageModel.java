package io.jrun.examples.own;

import io.jrun.train.data.Batch;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.model.LayeredModel;
import io.jrun.train.model.ModelSetup;
import io.jrun.trainer.ModelFactory;
import io.jrun.trainer.Trainer;
import io.jrun.trainer.data.TrainingData;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.Conv2dOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Samples that are not tokens: convolutions learn whether a drawn image has a horizontal, a vertical or a diagonal line.
 * The program has the options of the trainer: {@code --dp}, {@code --shard}, {@code --zero}, {@code --pp}, {@code
 * --eval-every} and the rest.
 */
public final class ImageModel extends LayeredModel {
    private static final int SIZE = 8;

    /** A multiple of 16, see docs/trainer.md: libtorch's float32 convolutions on CPUs with AVX-512 need it. */
    private static final int CHANNELS = 16;

    /** The model of a setup; its layers are built later. */
    public ImageModel(ModelSetup setup) {
        super(setup);
        first("stem", () -> convolution(1), Conv2dImpl::forward);
        block(Block::new, Block::forward);
        block(Block::new, Block::forward);
        last("head", () -> new LinearImpl(CHANNELS, setup.vocabulary()), (head, x) -> head.forward(x.mean(2, 3)));
    }

    /** Trains the model on all ranks. */
    public static void main(String[] args) {
        Trainer.main("image-model.jar", args, program());
    }

    private static Conv2dImpl convolution(long from) {
        Conv2dOptions options = new Conv2dOptions(from, CHANNELS, new LongPointer(3, 3));
        options.padding().put(new LongPointer(1, 1));
        return new Conv2dImpl(options);
    }

    private static final class Block extends CompositeModule {
        private final Conv2dImpl convolution = add("convolution", convolution(CHANNELS));

        Tensor forward(Tensor x_BCHW) {
            return x_BCHW.add(convolution.forward(torch.relu(x_BCHW)));
        }
    }

    /** The model and its samples. */
    public static ModelFactory program() {
        List<Drawing> drawings = LongStream.range(0, 2200).mapToObj(Drawing::of).toList();
        return ModelFactory.of(
                ImageModel::new,
                TrainingData.of(drawings.subList(0, 2000), drawings.subList(2000, 2200), 3, ImageModel::batch));
    }

    private static Batch batch(List<Drawing> samples) {
        float[] pixels = new float[samples.size() * SIZE * SIZE];
        long[] lines = new long[samples.size()];
        for (int i = 0; i < lines.length; i++) {
            System.arraycopy(samples.get(i).pixels, 0, pixels, i * SIZE * SIZE, SIZE * SIZE);
            lines[i] = samples.get(i).line;
        }
        return new Batch(Tensor.create(pixels, lines.length, 1, SIZE, SIZE), Tensor.create(lines, lines.length));
    }

    /** An image and its class: 0 horizontal, 1 vertical, 2 diagonal. */
    private static final class Drawing {
        private final float[] pixels;
        private final int line;

        private Drawing(float[] pixels, int line) {
            this.pixels = pixels;
            this.line = line;
        }

        /** Equal numbers give equal images. */
        static Drawing of(long number) {
            SplittableRandom random = new SplittableRandom(number);
            float[] pixels = new float[SIZE * SIZE];
            for (int i = 0; i < pixels.length; i++) {
                pixels[i] = (float) random.nextDouble(0.5);
            }
            int line = random.nextInt(3);
            int place = random.nextInt(SIZE);
            for (int i = 0; i < SIZE; i++) {
                int row = line == 0 ? place : i;
                int column = line == 1 ? place : (line == 0 ? i : (i + place) % SIZE);
                pixels[row * SIZE + column] = 1;
            }
            return new Drawing(pixels, line);
        }
    }
}
