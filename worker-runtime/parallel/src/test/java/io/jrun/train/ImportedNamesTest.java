package io.jrun.train;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Distributed;
import io.jrun.train.data.DataLoader;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.gloo.GlooProvider;
import io.jrun.train.storage.Storage;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;

/** README's lists of the names that {@code import org.bytedeco.pytorch.*} makes ambiguous. */
class ImportedNamesTest {
    private static final Pattern NAME = Pattern.compile("`([A-Z]\\w*)`");

    private static final List<Class<?>> OF_EACH_MODULE = List.of(
            Distributed.class,
            Libtorch.class,
            DataLoader.class,
            Storage.class,
            GlooProvider.class,
            DistributedDataParallel.class);

    @Test
    void readmeListsEveryAmbiguousName() throws Exception {
        Set<String> libtorch = simpleNames(Tensor.class, "/org/bytedeco/pytorch", 1);
        Set<String> jrun = new TreeSet<>();
        for (Class<?> ofModule : OF_EACH_MODULE) {
            jrun.addAll(simpleNames(ofModule, "/io/jrun", Integer.MAX_VALUE));
        }
        Set<String> ofJava;
        try (Stream<Path> files = Files.list(Path.of(URI.create("jrt:/java.base/java/lang")))) {
            ofJava = publicNames(files);
        }
        String readme = Files.readString(Path.of("../../README.md"));
        assertThat(named(readme, "* of `java.lang`:", ";\n")).isEqualTo(common(ofJava, libtorch));
        assertThat(named(readme, "* of jrun:", ".\n")).isEqualTo(common(jrun, libtorch));
    }

    private static Set<String> common(Set<String> left, Set<String> right) {
        Set<String> common = new TreeSet<>(left);
        common.retainAll(right);
        return common;
    }

    private static Set<String> named(String readme, String begin, String end) {
        int start = readme.indexOf(begin);
        assertThat(start).as(begin).isPositive();
        Matcher names = NAME.matcher(readme.substring(start, readme.indexOf(end, start)));
        return names.results().map(name -> name.group(1)).collect(Collectors.toCollection(TreeSet::new));
    }

    /** The public classes below {@code folder} of the jar, or of the folder of classes, that has {@code type}. */
    private static Set<String> simpleNames(Class<?> type, String folder, int depth)
            throws IOException, URISyntaxException {
        Path place =
                Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
        if (Files.isDirectory(place)) {
            try (Stream<Path> files = Files.walk(Path.of(place + folder), depth)) {
                return publicNames(files.map(place::relativize));
            }
        }
        try (FileSystem jar = FileSystems.newFileSystem(place);
                Stream<Path> files = Files.walk(jar.getPath(folder), depth)) {
            return publicNames(files);
        }
    }

    private static Set<String> publicNames(Stream<Path> files) {
        return files.map(Path::toString)
                .filter(file -> file.endsWith(".class") && !file.contains("$") && !file.contains("-info"))
                .map(file -> file.replaceFirst("^/?(modules/java\\.base/)?", "")
                        .replace(".class", "")
                        .replace('/', '.'))
                .filter(ImportedNamesTest::isPublic)
                .map(name -> name.substring(name.lastIndexOf('.') + 1))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static boolean isPublic(String name) {
        try {
            return Modifier.isPublic(Class.forName(name, false, ImportedNamesTest.class.getClassLoader())
                    .getModifiers());
        } catch (ClassNotFoundException | LinkageError e) {
            return false; // a class of another operating system
        }
    }
}
