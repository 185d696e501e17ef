package io.jrun.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.AccessTarget.CodeUnitAccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaConstructor;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import io.jrun.comm.Device;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.Norm;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

/**
 * No code of a forward or backward pass makes a tensor without a device: the tensor would be on the CPU, and the pass
 * would fail on a GPU. Tests on CPUs do not see this. The check reads the class files.
 */
class DeviceFactoriesTest {
    private static final String TRAIN = "io.jrun.train.";

    /** The packages whose code runs in a pass, or builds what runs in one. */
    private static final String[] PACKAGES = Stream.concat(
                    Stream.of(
                                    "layer",
                                    "expert",
                                    "context",
                                    "tensorparallel",
                                    "recompute",
                                    "precision",
                                    "token",
                                    "mesh",
                                    "model",
                                    "device")
                            .map(TRAIN::concat),
                    Stream.of("io.jrun.models", "io.jrun.trainer", "io.jrun.examples.gpt", "io.jrun.examples.finetune"))
            .toArray(String[]::new);

    /** libtorch's functions that make a tensor from no other tensor. */
    private static final Set<String> FACTORIES = Set.of(
            "arange",
            "bartlett_window",
            "blackman_window",
            "empty",
            "empty_permuted",
            "empty_strided",
            "eye",
            "from_blob",
            "full",
            "hamming_window",
            "hann_window",
            "linspace",
            "logspace",
            "normal",
            "ones",
            "rand",
            "randint",
            "randn",
            "randperm",
            "scalar_tensor",
            "tensor",
            "tril_indices",
            "triu_indices",
            "zeros");

    @Test
    void codeOfAPassNamesTheDeviceOfEachNewTensor() {
        List<String> found = new ArrayList<>();
        for (JavaClass type : new ClassFileImporter()
                .withImportOption(new DoNotIncludeTests())
                .importPackages(PACKAGES)) {
            accesses(type)
                    .forEach(access ->
                            defect(access).ifPresent(why -> found.add(access.getSourceCodeLocation() + " " + why)));
        }

        assertThat(found)
                .as("calls that make a tensor on the CPU; use DeviceTensors, or the options of another tensor")
                .isEmpty();
    }

    @Test
    void theCheckFindsEachKindOfCall() {
        JavaClass offenders = new ClassFileImporter()
                .importClasses(Offenders.class, LinearLayer.class, Norm.class)
                .get(Offenders.class);

        assertThat(accesses(offenders).map(access -> defect(access).orElse("")).filter(why -> !why.isEmpty()))
                .containsExactlyInAnyOrder(
                        "calls arange without TensorOptions",
                        "calls ones without TensorOptions",
                        "refers to zeros without TensorOptions",
                        "calls Tensor.create",
                        "makes TensorOptions of the CPU",
                        "makes LinearLayer without a Device",
                        "calls Norm.layer without a Device");
    }

    private static Stream<JavaAccess<?>> accesses(JavaClass type) {
        return Stream.of(
                        type.getMethodCallsFromSelf(),
                        type.getMethodReferencesFromSelf(),
                        type.getConstructorCallsFromSelf(),
                        type.getConstructorReferencesFromSelf())
                .flatMap(Set::stream);
    }

    private static Optional<String> defect(JavaAccess<?> access) {
        JavaClass owner = access.getTargetOwner();
        String name = access.getName();
        String verb = access.getDescription().contains(" references ") ? "refers to " : "calls ";
        if (owner.isEquivalentTo(torch.class) && FACTORIES.contains(name) && !takes(access, TensorOptions.class)) {
            return Optional.of(verb + name + " without TensorOptions");
        }
        if (owner.isEquivalentTo(Tensor.class) && name.equals("create")) {
            return Optional.of(verb + "Tensor.create");
        }
        if (owner.isEquivalentTo(TensorOptions.class) && name.equals(JavaConstructor.CONSTRUCTOR_NAME)) {
            return Optional.of("makes TensorOptions of the CPU");
        }
        return ignoresDevice(access, owner)
                ? Optional.of((name.equals(JavaConstructor.CONSTRUCTOR_NAME)
                                ? "makes " + owner.getSimpleName()
                                : verb + owner.getSimpleName() + "." + name)
                        + " without a Device")
                : Optional.empty();
    }

    /** A module that could be built on a device, and is built on the CPU. */
    private static boolean ignoresDevice(JavaAccess<?> access, JavaClass owner) {
        return !access.getOriginOwner().equals(owner)
                && !takes(access, Device.class)
                && owner.getCodeUnits().stream()
                        .filter(unit -> unit.getName().equals(access.getName()) && makesModule(unit))
                        .map(JavaCodeUnit::getRawParameterTypes)
                        .anyMatch(types -> types.stream().anyMatch(type -> type.isEquivalentTo(Device.class)));
    }

    private static boolean makesModule(JavaCodeUnit unit) {
        return unit.getRawReturnType().isAssignableTo(Module.class)
                || (unit.isConstructor() && unit.getOwner().isAssignableTo(Module.class));
    }

    private static boolean takes(JavaAccess<?> access, Class<?> parameter) {
        return ((CodeUnitAccessTarget) access.getTarget())
                .getRawParameterTypes().stream().anyMatch(type -> type.isEquivalentTo(parameter));
    }

    /** Calls of each kind. They never run. */
    static final class Offenders {
        private Offenders() {}

        static Object calls() {
            return List.of(
                    torch.arange(new Scalar(3)),
                    torch.ones(2, 2),
                    torch.zeros(new long[] {2}, new TensorOptions(torch.ScalarType.Float)),
                    Tensor.create(1L, 2L),
                    (Function<long[], Tensor>) torch::zeros,
                    new LinearLayer(2, 2, false),
                    Norm.layer(2, 1e-5));
        }
    }
}
