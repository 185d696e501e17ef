package io.jrun.train.autograd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.Libtorch;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AutoGradMode;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorArrayRefOptional;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class AutogradFunctionTest {
    private PointerScope scope;
    private AutogradBridge bridge;

    /** A function of two methods. */
    private record Function(
            BiFunction<FunctionContext, List<Tensor>, List<Tensor>> forwardMethod,
            BiFunction<FunctionContext, List<@Nullable Tensor>, List<@Nullable Tensor>> backwardMethod)
            implements AutogradFunction {
        @Override
        public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
            return forwardMethod.apply(context, inputs);
        }

        @Override
        public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
            return backwardMethod.apply(context, gradients);
        }
    }

    /** The product of two matrices and twice the sum of the first; the constant between them has no gradient. */
    private static final AutogradFunction PRODUCT_AND_SUM = new Function(
            (context, in) -> {
                context.save(in.get(0), in.get(2));
                return List.of(torch.mm(in.get(0), in.get(2)), in.get(0).sum().mul(new Scalar(2)));
            },
            (context, gradients) -> {
                Tensor x = context.saved(0);
                Tensor w = context.saved(1);
                Tensor product = gradients.get(0);
                Tensor sum = gradients.get(1);
                Tensor gx = product == null ? torch.zeros_like(x) : torch.mm(product, w.t());
                if (sum != null) {
                    gx = gx.add(torch.ones_like(x).mul(sum).mul(new Scalar(2)));
                }
                return Arrays.asList(gx, null, product == null ? null : torch.mm(x.t(), product));
            });

    private static final AutogradFunction IDENTITY = new Function((_, in) -> in, (_, gradients) -> gradients);

    private static final AutogradFunction EXP = new Function(
            (context, in) -> {
                Tensor out = in.getFirst().exp();
                context.save(out);
                return List.of(out);
            },
            (context, gradients) -> List.of(gradients.getFirst().mul(context.saved(0))));

    @BeforeEach
    void load() {
        Libtorch.load();
        bridge = AutogradBridge.instance();
        scope = new PointerScope();
        torch.manual_seed(3);
    }

    @AfterEach
    void nothingLivesOn() throws InterruptedException {
        scope.close();
        // A thread of the engine may drop its last task after the pass has returned.
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (LiveCalls.count() > 0 && System.nanoTime() < end) {
            TimeUnit.MILLISECONDS.sleep(1);
        }
        assertThat(LiveCalls.count()).isZero();
    }

    private static Tensor leaf(long... sizes) {
        return torch.randn(sizes).requires_grad_(true);
    }

    private Tensor call(AutogradFunction function, Tensor input) {
        return bridge.apply(function, List.of(input)).getFirst();
    }

    private void backward(Tensor root) {
        bridge.backward(List.of(root), List.of());
    }

    private static Tensor takeGradient(Tensor leaf) {
        Tensor gradient = leaf.grad().clone();
        leaf.mutable_grad().reset();
        return gradient;
    }

    @Test
    void severalInputsAndOutputsHaveTheGradientsOfTorchsOwnOperations() {
        Tensor x = leaf(3, 4);
        Tensor w = leaf(4, 5);
        Tensor constant = torch.randn(2);
        List<Tensor> out = bridge.apply(PRODUCT_AND_SUM, List.of(x, constant, w));
        backward(out.get(0).pow(new Scalar(2)).sum().add(out.get(1)));
        Tensor gx = takeGradient(x);
        Tensor gw = takeGradient(w);
        Tensor product = torch.mm(x, w);
        backward(product.pow(new Scalar(2)).sum().add(x.sum().mul(new Scalar(2))));
        assertThat(gx.allclose(takeGradient(x))).isTrue();
        assertThat(gw.equal(takeGradient(w))).isTrue();
    }

    /** libtorch would take 1 for a freed scalar. */
    @Test
    void aScalarThatTheBackwardMethodKeepsIsThereInTheNextPass() {
        List<Scalar> kept = new ArrayList<>();
        AutogradFunction elevenfold =
                new Function((_, in) -> List.of(in.getFirst().clone()), (_, gradients) -> {
                    Tensor gradient = Objects.requireNonNull(gradients.getFirst());
                    if (kept.isEmpty()) {
                        kept.add(new Scalar(10));
                    }
                    return List.of(torch.add(gradient, gradient, kept.getFirst()));
                });
        Tensor x = leaf(1);
        for (int pass = 0; pass < 2; pass++) {
            backward(call(elevenfold, x).sum());
            assertThat(takeGradient(x).item_double()).isEqualTo(11);
        }
    }

    @Test
    void anOutputThatTheLossDoesNotUseHasNoGradient() {
        Tensor x = leaf(3, 4);
        Tensor w = leaf(4, 5);
        List<Tensor> out = bridge.apply(PRODUCT_AND_SUM, List.of(x, torch.ones(1), w));
        backward(out.get(1));
        assertThat(takeGradient(x).equal(torch.full(new long[] {3, 4}, new Scalar(2))))
                .isTrue();
        assertThat(w.grad().defined()).isFalse();
    }

    @Test
    void withoutAnyGradientTheBackwardMethodIsNotCalled() {
        Tensor x = leaf(2);
        AutogradFunction blocks = new Function((_, in) -> List.of(in.getFirst().clone()), (_, _) -> nullList(1));
        AutogradFunction notCalled = new Function((_, in) -> in, (_, _) -> {
            throw new AssertionError("called without a gradient");
        });
        backward(call(blocks, call(notCalled, x)).sum());
        assertThat(x.grad().defined()).isFalse();
    }

    private static List<@Nullable Tensor> nullList(int size) {
        return new ArrayList<>(Arrays.asList(new Tensor[size]));
    }

    @Test
    void inputsMayBeOutputsEvenTwice() {
        Tensor x = leaf(4);
        AutogradFunction twice = new Function(
                (_, in) -> List.of(in.getFirst(), in.getFirst()),
                (_, gradients) -> List.of(gradients.get(0).add(gradients.get(1).mul(new Scalar(10)))));
        List<Tensor> out = bridge.apply(twice, List.of(call(IDENTITY, x)));
        backward(out.get(0).sum().add(out.get(1).sum()));
        assertThat(takeGradient(x).equal(torch.full(new long[] {4}, new Scalar(11))))
                .isTrue();
    }

    @Test
    void aLeafMayBeUsedAgainBesideTheFunction() {
        Tensor x = leaf(4);
        backward(call(EXP, x).add(x).sum());
        assertThat(takeGradient(x).equal(x.detach().exp().add(new Scalar(1)))).isTrue();
    }

    @Test
    void nonDifferentiableOutputsRequireNoGradient() {
        Tensor x = leaf(2, 3);
        AutogradFunction function = new Function(
                (context, in) -> {
                    Tensor scale = in.getFirst().abs().max();
                    context.markNonDifferentiable(scale);
                    return List.of(in.getFirst().argmax(), scale, in.getFirst().clone());
                },
                (_, gradients) -> {
                    assertThat(gradients.subList(0, 2)).containsOnlyNulls();
                    return List.of(gradients.get(2));
                });
        List<Tensor> out = bridge.apply(function, List.of(x));
        assertThat(out).extracting(Tensor::requires_grad).containsExactly(false, false, true);
        backward(out.get(2).mul(out.get(1)).sum());
        assertThat(takeGradient(x).equal(out.get(1).expand(2, 3))).isTrue();
    }

    @Test
    void nothingIsRecordedWithoutGradients() {
        Tensor x = leaf(2);
        assertThat(call(EXP, x.detach()).requires_grad()).isFalse();
        try (NoGradGuard _ = new NoGradGuard()) {
            assertThat(call(EXP, x).requires_grad()).isFalse();
        }
        assertThat(LiveCalls.count()).isZero();
    }

    @Test
    void aRetainedGraphRunsTwiceAndAFreedOneSaysSo() {
        Tensor x = leaf(3);
        Tensor loss = call(EXP, x).sum();
        loss.backward(new Tensor(), new BoolOptional(true), false, new TensorArrayRefOptional());
        Tensor once = takeGradient(x);
        backward(loss);
        assertThat(takeGradient(x).equal(once)).isTrue();
        assertThatThrownBy(() -> backward(loss))
                .isInstanceOf(RuntimeException.class)
                .hasMessageContaining("backward");
        Tensor again = call(EXP, x);
        Tensor ones = torch.ones(3);
        bridge.backward(List.of(again), List.of(ones));
        assertThatThrownBy(() -> bridge.backward(List.of(again), List.of(ones)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("the tensors that Function saved are freed")
                .hasMessageContaining("retain_graph");
    }

    @Test
    void aSavedTensorThatWasChangedInPlaceIsAnError() {
        Tensor x = leaf(3);
        Tensor y = call(EXP, x);
        try (NoGradGuard _ = new NoGradGuard()) {
            y.mul_(new Scalar(2));
        }
        assertThatThrownBy(() -> backward(y.sum()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("tensor 0 of shape [3] that Function saved was changed in place");
    }

    @Test
    void gradientsThatDoNotFitAreErrors() {
        Tensor x = leaf(3);
        assertThatThrownBy(() -> backward(call(new Function((_, in) -> in, (_, _) -> List.of(torch.ones(2))), x)
                        .sum()))
                .hasMessage(
                        "the backward method of Function returned a gradient of type and shape Float[2] for input 0,"
                                + " which has Float[3]. Return a gradient of the type and shape of the input.");
        assertThatThrownBy(() -> backward(call(new Function((_, in) -> in, (_, _) -> List.of()), x)
                        .sum()))
                .hasMessageContaining("returned 0 gradients for 1 inputs");
        assertThat(x.grad().defined()).isFalse();
    }

    @Test
    void anExceptionOfTheForwardMethodLeavesNothing() {
        Tensor x = leaf(3);
        AutogradFunction fails = new Function(
                (context, in) -> {
                    context.save(in.getFirst());
                    throw new IllegalArgumentException("no forward");
                },
                (_, gradients) -> gradients);
        assertThatThrownBy(() -> call(fails, x)).isInstanceOf(IllegalArgumentException.class);
    }

    private static final class Boom extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    @Test
    void anExceptionOfTheBackwardMethodReachesTheCallerItself() {
        Boom boom = new Boom();
        AutogradFunction fails = new Function((_, in) -> in, (_, _) -> {
            throw boom;
        });
        Tensor loss = call(fails, call(IDENTITY, leaf(3))).sum();
        assertThatThrownBy(() -> backward(loss)).isSameAs(boom);
        Tensor direct = call(fails, leaf(3)).sum();
        assertThatThrownBy(direct::backward).hasMessageContaining(Boom.class.getName());
    }

    /** The engine runs passes that are nested this deep on threads of its own (its limit is 60). */
    private static final int DEEP = 100;

    @Test
    void gradientsAndExceptionsComeFromTheEnginesOwnThreadsToo() {
        List<Thread> threads = new ArrayList<>();
        Tensor x = leaf(3);
        backward(nested(x, DEEP, threads, () -> {}).sum());
        assertThat(takeGradient(x).equal(torch.ones(3))).isTrue();
        assertThat(threads).hasSize(DEEP).first().isNotSameAs(Thread.currentThread());
        Boom boom = new Boom();
        assertThatThrownBy(() -> backward(nested(x, DEEP, threads, () -> {
                            throw boom;
                        })
                        .sum()))
                .isSameAs(boom);
    }

    /** An identity whose backward method runs a backward pass through another one, and so on. */
    private Tensor nested(Tensor input, int depth, List<Thread> threads, ThrowingCallable last) {
        return call(
                new Function((_, in) -> List.of(in.getFirst().clone()), (_, gradients) -> {
                    if (depth == 1) {
                        try {
                            last.call();
                        } catch (RuntimeException e) {
                            throw e;
                        } catch (Throwable e) {
                            throw new AssertionError(e);
                        }
                        threads.add(Thread.currentThread());
                        return gradients;
                    }
                    Tensor inner = gradients.getFirst().detach().requires_grad_(true);
                    try (AutoGradMode _ = new AutoGradMode(true)) {
                        Tensor out = nested(inner, depth - 1, threads, last);
                        bridge.backward(List.of(out), List.of(gradients.getFirst()));
                    }
                    threads.add(Thread.currentThread());
                    return List.of(inner.grad());
                }),
                input);
    }

    @Test
    void gradOfChosenInputsRunsTheFunction() {
        Tensor x = leaf(3);
        Tensor y = call(EXP, x);
        TensorVector gradients = torch.grad(new TensorVector(y.sum()), new TensorVector(x));
        assertThat(gradients.get(0).equal(y)).isTrue();
        assertThat(x.grad().defined()).isFalse();
    }
}
