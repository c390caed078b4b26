"""The helpers that CPU kernels may call, by name: digests of their texts, and for what vectors are made of the dtype of their elements.

Comes in: a statement at the top of a module. Goes out: whether it is a helper. The one idea: helpers are atoms of the proof, so what is trusted
is a list: made of what the emitter ships, and compared with it by a test.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import re

APART = re.compile(r"\b(lanes_\w+?|LANES|VECTOR|Lanes(?:Model)?)_(f32|f64)\b")  # names of vectors, in a module of two dtypes


def digest(node: ast.stmt) -> str:
    """What a statement is, without its docstring and its spaces, and without the dtype that its vectors' names may end in.

    >>> digest(ast.parse("def f(x): return x").body[0]) == digest(ast.parse("def f(x):\\n    'the same'\\n    return x").body[0])
    True
    """
    node = copy.deepcopy(node)
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef) and len(inner.body) > 1 and ast.get_docstring(inner) is not None:
            inner.body = inner.body[1:]
    return hashlib.sha256(APART.sub(r"\1", ast.unparse(node)).encode()).hexdigest()


def dtype_of(name: str, node: ast.stmt) -> str | None:
    """Of which dtype a helper's vectors are, empty where it has none or is for each; None for what is no helper. All of it speaks of one dtype."""
    apart, found = APART.fullmatch(name), digest(node)
    plain, ends = (apart[1], apart[2]) if apart else (name, "")
    if any(other[2] != ends for other in APART.finditer(ast.unparse(node))):
        return None
    if DIGESTS.get(plain) == found:
        return ends
    return next((dtype for dtype, known in VECTORS.items() if known.get(plain) == found and ends in ("", dtype)), None)


DIGESTS = {
    "LanesModel": "81e73a1b66606b8512f8c14964534f7e40e977d9f56b167f3cab8366fd60d4e3",
    "at": "13ced2e80025eb2d0c5249f449d1e527064a27e83bce954375ca55ec6b0fe3c3",
    "bf16_to_f32": "796b14f0f845b397feb6df9f325fc941918f60fcb2755beb13bfbd4e298239a1",
    "cos_f32": "972e61d0b0b774c24c9e9d7598830687144bbf962b9f2a65c5e946ba5014e5d3",
    "cos_f64": "1dd562812ace08851c216b90a9d3d782865b142923c2984764414ee2c4e694a5",
    "erf_f32": "e8a7dade5a44d0c664c090a54c968885e801bb88421298a84112805dfcce77b1",
    "erf_f64": "e769a1b56ee231f83aca14801bdc3a62c9210701d76acd50f08919648a9030da",
    "exp2_f32": "cd88bf9773c8fafd7c34d76757459de23fbde29d15d097284ebccbcfc1f1dadd",
    "exp2_f64": "e075919608360c73c461d4d7051dc507c4cef51c311f97ec3f5a6e3603166a0b",
    "exp_f32": "cf00e73128cc5e6622ca35442f729a76555968a3b1caf2a3cbdd539afa2402c1",
    "exp_f64": "8f054249eeccec05761662b8a940d5f53ce67a3cf0e0a38f92ed6b38b7c9d29f",
    "f16_to_f32": "30550ed873f829afd18106a60c44799f298ad3ad0d6674395038c3894c0bb29b",
    "f32_to_bf16": "462829271b6a852c04997ef22d48b32a4d0c26aa501118d531f0755cc21e16f5",
    "f32_to_f16": "4f5ee7be99007cfa926ff159987a0c4a3ec49cda9c870ba7c9c7ad8b76d0c572",
    "inlined": "c0b7109f71fb39e26fded77336853a1c6f876818926d810cc97b80a7634117c1",
    "lanes_add": "7fc078f6b331533f3c201b7f66d845d412e3c9075e2d5bcd9c3270992bae819c",
    "lanes_address": "afbb16961d321d79e71274f2f739a7636563fe01c230725af03442c59918735f",
    "lanes_choice": "e593499669a012c06e7c2fe62801a8fd5b0e3c0cc6224ef37902626a8173a9b8",
    "lanes_div": "1ce9d708dffcd4ec47bd3f5911f5cf056ff46e839c30c6273692166739f9d14e",
    "lanes_max": "7eb4550c899b5a89ec2844233da6550b66f83b8c7be8a0dc1631d0061e82fa18",
    "lanes_min": "bf478b7590cc55fd51cb2e9f3d5a8402e9e259cd04ca253f25bbfc84e7ebd0b7",
    "lanes_mul": "0dfea439db8f91358c4a616567328f24af9b90f1fd8bd8584ede527ffa89a45d",
    "lanes_operation": "de66454dce55603d38006ee77c4bc6158673963c63de7f2b8e7ccbbbd0362f1c",
    "lanes_sub": "5a9fd91ff916e08c2d11dde5fd1d5779d4bcafb85ca097b47220978aa8d988ef",
    "larger": "534a0f07db84d44159d931a4089252da7b83979194dbdb2120dfb16f9954cf84",
    "log_f32": "e4303e8d650769c56501ee820ad521aa8fd4f7505ca9ee2bd18ec6eeab9d62ee",
    "log_f64": "7a8fa33863aafd402e2f254f22ce5c8c5839b9f2e0069998c56bba2bdf47752e",
    "narrow_to_odd": "310b3ca9ae7d02dc5abf74d7aa10bd16a55fd85e6423efcb8e44b62cf899c5b4",
    "quotient": "4c0cc186f1c3eee3b6c864762967cc0b26016c0ac4f895f47b1a5ebaad8707a6",
    "remainder": "5e30dfcaa3f2aad09b90683a0a42d7cd40d60637a09437f5f697bb7340bbf101",
    "round_bf16": "e0d3053e874e1b91243b4a4797b434608b6db3de23fa3c69aea96e4518a70398",
    "round_f16": "ccb0b1188b775913aa036b93b364b9fe296d04c6deb2ad982304d089a68b11a8",
    "rsqrt_f32": "583d30341783c95910fc36875c6eafd1a24a7120076bad9ddc2ad423a119b752",
    "rsqrt_f64": "1a3c7a0e47e4539ec3db125fd0346b344e75999f31d928869cdf02ef2ff67358",
    "scale_f32": "2bbc2b425d7757a60b06ac345a8c2266e2a55a52102b2754bd90e54880d80f05",
    "sigmoid_f32": "ea78136d95265f0c6e8c6e77493695fd341918359d5365ba49533ef8b28f64cf",
    "sigmoid_f64": "2b3a99169906ae1eb86c91714085bf9f8d73429efb10b5b26c96c85da5730e24",
    "sin_f32": "2d8d33b3010d5f0cda8c71270110f81eab787a3fe682e9dfe9afda60447b6d02",
    "sin_f64": "9521b23b18624878cb6a40531e0a3c4328d5f583bc405bfc684e1585b4fdef04",
    "smaller": "dfa46e8d76b645b657f1f99e155409f1c7995e90d01b34b1a0bf92b7d4507ce6",
    "tanh_f32": "6a04c63fffbb1eb9dc7b93a20425241c9009ec012d2090d6c6a8863cb23bae1c",
    "tanh_f64": "213559ae45932d0eb358e5f02c78e43c43e47422d4ecc0d5401f68adbc74bd4e",
    "to_i32": "d7ba6bd5c3672d034c0049a8e8dee7e0b7ce9502103f7d6a862e4cee0c602ae5",
    "to_i64": "b4318403e479a5afac3c576921665fd26022a44511be347e31412a157ffacf4f",
    "to_i8": "f458c44f5252aadb0b5c7fe5407bbcf02663b5ef09cbf7cae470dec0bfe47c76",
    "to_u32": "43434fcf0a68c186c6b0ad5eb93758eade16c99ff278044a890596739b8dfbeb",
    "to_u8": "23292712f5b95376d52c1a97e028dec4f3e873d9d634dd2f96bb94e7963ac0d9",
    "turned_f32": "a75cb7f9e26b34ade879d56891df76a730421ab29f063ad5d98836a138fc9195",
}
VECTORS = {  # by the dtype of their elements
    "f32": {
        "LANES": "84bd22e22585c60c9c02e4877d54523a0e8795d0644f3689e564231b104c96be",
        "Lanes": "c614d0d299a0f996709fd7d62c01d145f4e0afd7b138e42b69cc80efdc31aef5",
        "VECTOR": "fddf3ad6e49c07b8024c97b1391199c6d19faea1aa381064b0996e5fb29125f5",
        "lanes_load": "7c5ea16699b4e8dd6c5f100d44e503e19a27c3af9c66ed93004bb062404e7be6",
        "lanes_spread": "c12e4dafa04e374e77fda1e644fa4b38aa072835409f35db7a5fce2e7de42938",
        "lanes_store": "985601724e08068be4364a697ffa8e1cb31c9be2811c0ae806d75a116e314bff",
        "lanes_type": "815e28a31b351c4272a6e4ed0dbdb0380edfbc56522c544ba8a01097d7a05d46",
    },
    "f64": {
        "LANES": "11c256f5f6a64e28dafaf061e7073029f66e2eb60c204ea3270aa7a93f0fa5da",
        "Lanes": "39953f835fb8fd4e7abc780e43fab7367a614d1182f2200df0d6456f7ab06815",
        "VECTOR": "ea2f8fca1620118420f15e7f2830926162abc612d214cb09dd9d7ffb9880c300",
        "lanes_load": "3be16d34a66985b3ebe4b05552058257488f1bb7c9a379c89de8cd61faafa249",
        "lanes_spread": "eabf913ba7fdeb0d702241d845ffbf3488e8e55aafce05749e55148f4ca28c16",
        "lanes_store": "1bd94544172e4f59d841776a7c27912d35efdf56f4453c4ec6285849d1124454",
        "lanes_type": "e1cb966a52ec60fc8b304e190709cfc1990cf01f9dd253580ee40203fadad987",
    },
}
