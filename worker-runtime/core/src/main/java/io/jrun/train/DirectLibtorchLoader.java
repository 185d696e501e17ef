package io.jrun.train;

import io.jrun.comm.backend.ProgramThreads;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.openblas.global.openblas;
import org.bytedeco.openblas.global.openblas_nolapack;
import org.bytedeco.pytorch.ArchiveWriter;
import org.bytedeco.pytorch.AutoGradMode;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Edge;
import org.bytedeco.pytorch.FunctionPostHook;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.OutputArchive;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.StringVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorImpl;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * Loads libtorch from a filled cache without the loader of the presets. The loader of the presets searches and checks a
 * dozen libraries again for each class of torch on its first use: about 5 ms for each of the forty classes that any
 * training uses. A system property turns that loader off for the whole process. The property is set only while no other
 * thread of the program can load a library.
 */
final class DirectLibtorchLoader {
    /** The loader of the presets does nothing while this property is false. */
    private static final String SWITCH = "org.bytedeco.javacpp.loadlibraries";

    /** Names a BLAS library other than the presets' own. */
    private static final String CHOSEN_BLAS = "org.bytedeco.openblas.load";

    /** The libraries that come with a jar of the presets, in the order to open them. */
    private record Preset(String name, List<String> libraries) {
        /** The unpacked libraries that exist; none if the jar is not on the class path. */
        Stream<Path> unpacked(Path cache, String classPath) {
            return folder(cache, classPath)
                    .flatMap(folder -> libraries.stream().map(folder::resolve))
                    .filter(Files::exists);
        }

        /** The folder of the unpacked libraries; none if the jar is not on the class path. */
        Stream<Path> folder(Path cache, String classPath) {
            return Arrays.stream(classPath.split(File.pathSeparator, -1))
                    .map(entry -> entry.substring(entry.lastIndexOf('/') + 1))
                    .filter(jar -> jar.startsWith(name + "-") && jar.endsWith(Libtorch.ARCHIVE_SUFFIX))
                    .limit(1)
                    .map(jar -> cache.resolve(jar).resolve("org/bytedeco/" + name + "/linux-x86_64"));
        }
    }

    private static final Preset PYTORCH = new Preset(
            "pytorch", List.of("libc10.so", "libgomp.so.1", "libtorch_cpu.so", "libtorch.so", "libjnitorch.so"));

    private static final List<Preset> BESIDE = List.of(
            new Preset("javacpp", List.of("libjnijavacpp.so")),
            new Preset(
                    "openblas",
                    List.of(
                            "libgcc_s.so.1",
                            "libquadmath.so.0",
                            "libgfortran.so.5",
                            "libopenblas_nolapack.so.0",
                            "libjniopenblas_nolapack.so",
                            "libopenblas.so.0",
                            "libjniopenblas.so")));

    /** The classes that a training step uses. A class that is not listed here costs the time of the presets' loader. */
    private static final List<Class<?>> USUAL = List.of(
            torch.class,
            openblas.class,
            openblas_nolapack.class,
            ArchiveWriter.class,
            BytePointer.class,
            DoublePointer.class,
            FloatPointer.class,
            LongPointer.class,
            AutoGradMode.class,
            Device.class,
            Edge.class,
            FunctionPostHook.class,
            Generator.class,
            GeneratorOptional.class,
            IValue.class,
            InputArchive.class,
            LinearImpl.class,
            LongOptional.class,
            MemoryFormatOptional.class,
            NoGradGuard.class,
            Node.class,
            OutputArchive.class,
            SGD.class,
            SGDOptions.class,
            Scalar.class,
            ScalarTypeOptional.class,
            StringTensorDict.class,
            StringVector.class,
            Tensor.class,
            TensorImpl.class,
            TensorOptional.class,
            TensorOptions.class,
            TensorVector.class);

    private DirectLibtorchLoader() {}

    /** The folders of the unpacked libraries that libtorch needs, besides its own folder. */
    static Stream<Path> foldersBeside(Path cache) {
        return BESIDE.stream().flatMap(preset -> preset.folder(cache, System.getProperty("java.class.path")));
    }

    /**
     * Loads the libraries if this is the simple case.
     *
     * @param marker written after the presets' loader checked all libraries; a library that is newer must be checked
     *     again
     * @param torch the libraries of another build of libtorch in the order to open them; some may lie outside of the
     *     cache
     * @return false if nothing was loaded; then the presets' loader must load the libraries
     */
    static boolean load(Path cache, Path marker, Optional<List<Path>> torch) {
        if (System.getProperty(SWITCH) != null
                || System.getProperty(CHOSEN_BLAS) != null
                || ProgramThreads.areBeside(Thread.currentThread())) {
            return false;
        }
        List<Preset> presets = torch.isPresent()
                ? BESIDE
                : Stream.concat(BESIDE.stream(), Stream.of(PYTORCH)).toList();
        List<Path> libraries = Stream.concat(
                        presets.stream()
                                .flatMap(preset -> preset.unpacked(cache, System.getProperty("java.class.path"))),
                        torch.stream().flatMap(List::stream))
                .filter(library -> !library.startsWith(cache) || isUnchanged(library, marker))
                .toList();
        if (libraries.size()
                < presets.stream().mapToInt(preset -> preset.libraries().size()).sum()
                        + torch.map(List::size).orElse(0)) {
            return false;
        }
        System.setProperty(SWITCH, "false");
        try {
            libraries.forEach(library -> System.load(library.toString()));
            USUAL.forEach(DirectLibtorchLoader::initialise);
        } finally {
            System.clearProperty(SWITCH);
        }
        return true;
    }

    /** Whether the library exists, and was not changed after the marker was written. */
    static boolean isUnchanged(Path library, Path marker) {
        try {
            FileTime changed = (FileTime) Files.getAttribute(library, "unix:ctime");
            return changed.compareTo(Files.getLastModifiedTime(marker)) <= 0;
        } catch (IOException e) {
            return false;
        }
    }

    private static void initialise(Class<?> type) {
        try {
            Class.forName(type.getName(), true, type.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new NoClassDefFoundError(e.getMessage());
        }
    }
}
