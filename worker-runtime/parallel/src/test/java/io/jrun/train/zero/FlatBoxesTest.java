package io.jrun.train.zero;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.Libtorch;
import io.jrun.train.mesh.TensorBox;
import java.util.List;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranges of elements as boxes: each range of each shape. */
class FlatBoxesTest {
    @BeforeAll
    static void load() {
        Libtorch.load();
    }

    @ParameterizedTest
    @ValueSource(strings = {"7", "3,4", "2,3,4", "1,5,1", "2,1,3,2"})
    void theBoxesAreTheElementsOfTheRange(String text) {
        long[] shape = LongStream.of(List.of(text.split(",")).stream()
                        .mapToLong(Long::parseLong)
                        .toArray())
                .toArray();
        long elements = LongStream.of(shape).reduce(1, (a, b) -> a * b);
        Tensor all = torch.arange(new Scalar(elements)).view(shape);
        for (long from = 0; from < elements; from++) {
            for (long to = from + 1; to <= elements; to++) {
                List<TensorBox> boxes = FlatBoxes.of(shape, from, all.view(-1).narrow(0, from, to - from));
                assertThat(boxes).hasSizeLessThan(2 * shape.length);
                assertThat(boxes.stream().mapToLong(box -> box.local().numel()).sum())
                        .isEqualTo(to - from);
                boxes.forEach(box -> assertThat(box.local().equal(in(all, box))).isTrue());
            }
        }
    }

    /** The elements of the whole tensor at the place of a box. */
    private static Tensor in(Tensor all, TensorBox box) {
        Tensor part = all;
        for (int dim = 0; dim < box.offsets().size(); dim++) {
            part = part.narrow(dim, box.offsets().get(dim), box.local().size(dim));
        }
        return part;
    }

    @Test
    void aTensorWithoutDimensionsIsOneBox() {
        Tensor one = torch.ones(1);
        assertThat(FlatBoxes.of(new long[0], 0, one)).singleElement().satisfies(box -> {
            assertThat(box.offsets()).isEmpty();
            assertThat(box.local().dim()).isZero();
        });
    }
}
