package io.jrun.train.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.Libtorch;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Supplier;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.bytedeco.javacpp.FunctionPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.CELUOptions;
import org.bytedeco.pytorch.CrossEntropyLossOptions;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.LSTMImpl;
import org.bytedeco.pytorch.LSTMOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LongArrayRef;
import org.bytedeco.pytorch.LongArrayRefOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.T_TensorTensor_T;
import org.bytedeco.pytorch.T_TensorTensor_TOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorArrayRef;
import org.bytedeco.pytorch.TensorArrayRefOptional;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.TensorVectorOptional;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LibtorchScopeTest {
    private PointerScope around;

    @BeforeEach
    void open() {
        Libtorch.setThreads(1);
        around = new PointerScope();
    }

    @AfterEach
    void close() {
        around.close();
    }

    private static <T> T made(Supplier<T> maker) {
        try (LibtorchScope _ = new LibtorchScope()) {
            return maker.get();
        }
    }

    @Test
    void theEndFreesTensorsAndTheirContainers() {
        assertThat(made(() -> torch.ones(2)).isNull()).isTrue();
        assertThat(made(() -> new TensorVector(torch.ones(2))).isNull()).isTrue();
        assertThat(made(() -> torch.linalg_svd(torch.ones(2, 2))).isNull())
                .as("a tuple")
                .isTrue();
    }

    @Test
    void theEndEndsTheGuards() {
        assertThat(made(() -> {
                            NoGradGuard guard = new NoGradGuard();
                            assertThat(torch.ones(2)
                                            .set_requires_grad(true)
                                            .mul(new Scalar(2))
                                            .requires_grad())
                                    .isFalse();
                            return guard;
                        })
                        .isNull())
                .isTrue();
        assertThat(torch.ones(2).set_requires_grad(true).mul(new Scalar(2)).requires_grad())
                .isTrue();
    }

    /** libtorch would take the defaults for freed objects. */
    @Test
    void optionsScalarsAndModulesLiveOn() {
        Tensor logits = torch.tensor(new float[] {3, 1, 0}).view(1, 3);
        Tensor target = torch.zeros(1).to(torch.ScalarType.Long);
        CrossEntropyLossOptions smoothed = made(() -> {
            CrossEntropyLossOptions options = new CrossEntropyLossOptions();
            options.label_smoothing().put(0.5);
            return options;
        });
        assertThat(torch.cross_entropy(logits, target, smoothed).item_double())
                .isNotEqualTo(torch.cross_entropy(logits, target).item_double());
        CELUOptions celu = made(() -> {
            CELUOptions options = new CELUOptions();
            options.alpha().put(5);
            return options;
        });
        assertThat(torch.celu(logits.neg(), celu).sum().item_double())
                .isNotEqualTo(torch.celu(logits.neg()).sum().item_double());
        TensorOptions doubles = made(() -> new TensorOptions(torch.ScalarType.Double));
        assertThat(torch.ones(new long[] {1}, doubles).scalar_type().intern()).isEqualTo(torch.ScalarType.Double);
        Scalar ten = made(() -> new Scalar(10));
        assertThat(torch.add(logits, logits, ten).sum().item_double()).isEqualTo(44);
        LinearImpl linear = made(() -> new LinearImpl(3, 2));
        assertThat(TensorMemory.sizes(linear.forward(logits))).containsExactly(1, 2);
        assertThat(made(() -> new DoubleOptional(3)).get()).isEqualTo(3);
    }

    @Test
    void anEndedOptionalTensorGivesItsMemoryBackAndIsAnErrorInEachPlace() {
        Tensor x = torch.rand(1, 2, 4, 4);
        Tensor rows = torch.rand(2, 4);
        Tensor targets = torch.zeros(2).to(torch.ScalarType.Long);
        TensorOptional mask = made(() -> new TensorOptional(torch.zeros(4, 4)));
        refused(() -> torch.scaled_dot_product_attention(x, x, x, mask, 0, false, new DoubleOptional(), false));
        Tensor graded = torch.rand(1, 2, 4, 4).set_requires_grad(true);
        refused(() -> torch.scaled_dot_product_attention(graded, x, x, mask, 0, false, new DoubleOptional(), false));
        TensorOptional truth = made(() -> new TensorOptional(torch.ones(4, 4).to(torch.ScalarType.Bool)));
        refused(() -> torch.scaled_dot_product_attention(x, x, x, truth, 0, false, new DoubleOptional(), false));
        TensorOptional row = made(() -> new TensorOptional(torch.ones(4)));
        refused(() -> torch.cross_entropy_loss(rows, targets, row, 1, -100, 0));
        refused(() -> torch.linear(rows, torch.rand(4, 4), row));
        refused(() -> torch.layer_norm(rows, new long[] {4}, row, row, 1e-5, false));
        refused(() -> torch.binary_cross_entropy(rows, rows, made(() -> new TensorOptional(torch.ones(2, 4))), 1));
        assertThat(TensorMemory.sizes(row.get())).containsExactly(4);
        Tensor values = torch.ones(4);
        TensorOptional ended = made(() -> new TensorOptional(values));
        assertThat(ended.has_value()).isTrue();
        assertThat(values.use_count()).isEqualTo(1);
    }

    private static void refused(Supplier<Tensor> use) {
        assertThatThrownBy(use::get).hasMessageContaining("TensorMemory.own(optional)");
    }

    @Test
    void anOwnedOptionalTensorLivesUntilItIsClosed() {
        TensorOptional kept = made(() -> TensorMemory.own(new TensorOptional(torch.ones(4))));
        assertThat(kept.get().sum().item_double()).isEqualTo(4);
        kept.close();
        assertThat(kept.isNull()).isTrue();
        TensorOptional none = made(() -> TensorMemory.own(new TensorOptional()));
        assertThat(none.has_value()).isFalse();
        none.close();
        assertThat(made(() -> new TensorOptional()).has_value()).isFalse();
        assertThatCode(() -> made(() -> {
                    TensorOptional closed = new TensorOptional(torch.ones(4));
                    closed.close();
                    return closed;
                }))
                .doesNotThrowAnyException();
    }

    /** An LSTM would begin without a state. */
    @Test
    void anEndedStateOfAnLstmIsAnErrorAndAnOwnedOneLivesOn() {
        LSTMImpl lstm = new LSTMImpl(new LSTMOptions(4, 4));
        Tensor x = torch.ones(1, 1, 4);
        List<Double> kept = new ArrayList<>();
        T_TensorTensor_T state = null;
        for (int step = 0; step < 3; step++) {
            try (LibtorchScope _ = new LibtorchScope()) {
                var result = state == null ? lstm.forward(x) : lstm.forward(x, state);
                kept.add(result.get0().sum().item_double());
                state = TensorMemory.own(result.get1());
            }
        }
        List<Double> inOneScope = new ArrayList<>();
        T_TensorTensor_T next = null;
        for (int step = 0; step < 3; step++) {
            var result = next == null ? lstm.forward(x) : lstm.forward(x, next);
            inOneScope.add(result.get0().sum().item_double());
            next = result.get1();
        }
        assertThat(kept).isEqualTo(inOneScope).doesNotHaveDuplicates();
        T_TensorTensor_T ended = made(() -> new T_TensorTensor_T(torch.ones(1, 1, 4), torch.ones(1, 1, 4)));
        refused(() -> lstm.forward(x, ended).get0());
        T_TensorTensor_T ofResult = made(() -> lstm.forward(x).get1());
        refused(() -> lstm.forward(x, ofResult).get0());
        var optional = made(() -> new T_TensorTensor_TOptional(new T_TensorTensor_T(torch.ones(4), torch.ones(4))));
        refused(() -> optional.get().get1().add(x));
        var many = made(() -> new TensorVectorOptional(new TensorVector(torch.ones(2), torch.ones(3))));
        assertThat(TensorMemory.sizes(many.get().get(1))).containsExactly(3);
        refused(() -> many.get().get(1).sum());
    }

    /** The tensors of a view are of another object, which the end frees. */
    @Test
    void anEndedViewOfTensorsIsAnError() {
        Tensor w = torch.ones(2).set_requires_grad(true);
        Tensor loss = w.sum();
        TensorArrayRefOptional inputs =
                made(() -> new TensorArrayRefOptional(new TensorArrayRef(new TensorVector(w, w))));
        assertThatThrownBy(() -> loss.backward(new Tensor(), new BoolOptional(), false, inputs))
                .isInstanceOf(RuntimeException.class);
        assertThat(w.grad().defined()).isFalse();
    }

    @Test
    void aDetachedObjectIsNotEnded() {
        TensorOptional optional;
        Scalar scalar;
        try (LibtorchScope scope = new LibtorchScope()) {
            optional = new TensorOptional(torch.ones(4));
            scalar = new Scalar(3).retainReference();
            scope.detach(optional).detach(scalar);
        }
        assertThat(optional.get().sum().item_double()).isEqualTo(4);
        assertThat(scalar.toDouble()).isEqualTo(3);
        optional.close();
        scalar.close();
    }

    /** A view of numbers has no numbers of its own. */
    @Test
    void anEndedViewOfNumbersIsAnError() {
        Tensor x = torch.ones(2, 3, 4);
        LongArrayRef sizes = made(() -> torch.ones(6, 4).sizes());
        assertThatThrownBy(() -> x.view(sizes)).isInstanceOf(RuntimeException.class);
        assertThatThrownBy(() -> torch.zeros(sizes)).isInstanceOf(RuntimeException.class);
        LongArrayRefOptional dimensions =
                made(() -> new LongArrayRefOptional(new LongArrayRef(new LongPointer(0L, 1L), 2)));
        assertThatThrownBy(() -> torch.sum(x, dimensions, false, new ScalarTypeOptional()))
                .isInstanceOf(RuntimeException.class);
        LongArrayRefOptional none = made(() -> new LongArrayRefOptional());
        assertThat(torch.sum(x, none, false, new ScalarTypeOptional()).item_double())
                .isEqualTo(24);
    }

    /**
     * The classes of the presets that give a tensor are freed or replaced, and all guards are freed. Modules and optimizers
     * are kept. Of options libtorch has defaults.
     */
    @Test
    void theEndFreesEveryClassThatHoldsATensorAndEveryGuard() throws Exception {
        List<String> kept = new ArrayList<>();
        List<String> freed = new ArrayList<>();
        for (Class<?> type : classesWithTensorsAndGuards()) {
            boolean isExpected = Module.class.isAssignableFrom(type)
                    || Optimizer.class.isAssignableFrom(type)
                    || FunctionPointer.class.isAssignableFrom(type)
                    || type.getSimpleName().endsWith("Options")
                    || type.getSimpleName().endsWith("ParamState");
            ScopeEnd end = ScopeEnd.of(type);
            if (isExpected) {
                assertThat(end).as(type.getName()).isEqualTo(ScopeEnd.KEPT);
            } else if (end == ScopeEnd.KEPT) {
                kept.add(type.getSimpleName());
            } else {
                freed.add(type.getSimpleName());
            }
        }
        assertThat(freed)
                .contains("Tensor", "TensorVector", "TensorOptional", "T_TensorTensor_T", "IValue", "NoGradGuard");
        assertThat(kept)
                .as("these give tensors of their arguments, or live as long as the program")
                .containsExactlyInAnyOrder(
                        "AnyModule",
                        "AutogradMetaFactory",
                        "AutogradMetaInterface",
                        "Backend",
                        "BufferPolicy",
                        "CommHookInterface",
                        "Generator",
                        "JitNode",
                        "MetaBase",
                        "ParameterPolicy",
                        "ProcessGroupCppCommHookInterface",
                        "Quantizer",
                        "Reducer");
    }

    private static List<Class<?>> classesWithTensorsAndGuards() throws Exception {
        Path jar = Path.of(
                Tensor.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        List<Class<?>> found = new ArrayList<>();
        try (ZipFile zip = new ZipFile(jar.toFile())) {
            for (ZipEntry entry : Collections.list(zip.entries())) {
                String name = entry.getName();
                if (name.matches("org/bytedeco/pytorch/\\w+\\.class")
                        && (name.endsWith("Guard.class") || gives(zip, entry))) {
                    Class<?> type = Class.forName(
                            name.replace('/', '.').replace(".class", ""), false, Tensor.class.getClassLoader());
                    if (Pointer.class.isAssignableFrom(type)) {
                        found.add(type);
                    }
                }
            }
        }
        return found;
    }

    /** Whether a method of a class returns a tensor. The names in a class file are ASCII. */
    private static boolean gives(ZipFile zip, ZipEntry entry) throws IOException {
        byte[] content = zip.getInputStream(entry).readAllBytes();
        return new String(content, StandardCharsets.ISO_8859_1).contains(")Lorg/bytedeco/pytorch/Tensor;");
    }
}
