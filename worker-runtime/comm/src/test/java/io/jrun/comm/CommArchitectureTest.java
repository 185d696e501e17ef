package io.jrun.comm;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

class CommArchitectureTest {
    private static final String ROOT = "io.jrun.comm";
    private static final Pattern USES = Pattern.compile("May use .*?\\.", Pattern.DOTALL);
    private static final Pattern NAME = Pattern.compile("\\{@code (\\w+)}");

    private static final JavaClasses COMM = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages(ROOT);

    @Test
    void nothingButTheJdkIsNeededAtRunTime() {
        classes()
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "io.jrun.comm..",
                        "java..",
                        "javax.crypto..",
                        "javax.net..",
                        "jdk.incubator.vector..",
                        "org.jspecify.annotations..")
                .check(COMM);
    }

    @Test
    void packagesFormNoCircle() {
        slices().matching("io.jrun.(**)").should().beFreeOfCycles().check(COMM);
    }

    @Test
    void theRootPackageDependsOnNoOtherPackage() {
        noClasses()
                .that()
                .resideInAPackage("io.jrun.comm")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.jrun.comm.*..")
                .check(COMM);
    }

    /** The package-info of each package lists the packages that it may use. Other dependencies are an error. */
    @TestFactory
    Stream<DynamicTest> packagesUseOnlyThePackagesOfTheirPackageInfo() {
        return COMM.getPackage(ROOT).getSubpackages().stream()
                .map(each -> DynamicTest.dynamicTest(
                        each.getRelativeName(), () -> checkUses(each.getRelativeName(), uses(each.getRelativeName()))));
    }

    private static void checkUses(String name, Set<String> uses) {
        classes()
                .that()
                .resideInAPackage(ROOT + "." + name)
                .should()
                .onlyDependOnClassesThat(DescribedPredicate.describe("are of the root package or of " + uses, type -> {
                    String used = type.getPackageName();
                    return !used.startsWith(ROOT + ".")
                            || used.equals(ROOT + "." + name)
                            || uses.contains(used.substring(ROOT.length() + 1));
                }))
                .check(COMM);
    }

    private static Set<String> uses(String name) throws IOException {
        Path file = Path.of("src/main/java/io/jrun/comm", name, "package-info.java");
        Matcher list = USES.matcher(Files.readString(file));
        assertThat(list.find()).as("'May use ...' in " + file).isTrue();
        return NAME.matcher(list.group()).results().map(match -> match.group(1)).collect(Collectors.toSet());
    }

    @Test
    void onlyFourClassesReadTheEnvironment() {
        noClasses()
                .that()
                .doNotHaveFullyQualifiedName("io.jrun.comm.join.RuntimeWorldProvider")
                .and()
                .doNotHaveFullyQualifiedName("io.jrun.comm.worker.ErrorRecord")
                .and()
                .doNotHaveFullyQualifiedName(
                        "io.jrun.comm.cuda.CudaLibraries") // where CUDA lies is no setting of a world
                .and()
                .haveNameNotMatching("io\\.jrun\\.comm\\.cuda\\.GpuDirectStorage.*") // nor how files are read
                .should()
                .callMethod(System.class, "getenv")
                .orShould()
                .callMethod(System.class, "getenv", String.class)
                .check(COMM);
    }
}
